"""The one place that states the version; the package metadata is built from it."""

__version__ = "0.4.0"
