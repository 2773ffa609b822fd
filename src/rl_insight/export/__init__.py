"""What leaves for other systems: Prometheus, OTLP."""
