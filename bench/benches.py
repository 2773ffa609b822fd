"""All benches, in the order in which they run. A new one is a function that returns rows, added here."""

from __future__ import annotations

from bench.api import api
from bench.caller import caller
from bench.imports import imports
from bench.inside_ray import inside_ray
from bench.page import page
from bench.pipeline import files, producer, soak, stored
from bench.read_models import demo_overhead, read_models
from bench.row import Bench
from bench.saturation import saturation

BENCHES = [
    Bench("caller", caller),
    Bench("producer", producer),
    Bench("file", files),
    Bench("stored", stored),
    Bench("ray", inside_ray),
    Bench("imports", imports),
    Bench("read", read_models),
    Bench("api", api),
    Bench("page", page),
    Bench("demo", demo_overhead),
    Bench("load", saturation, by_default=False),
    Bench("soak", soak, by_default=False),
]
