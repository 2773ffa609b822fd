"""All benches, in the order in which they run. A new one is a function that returns rows, added here."""

from __future__ import annotations

from bench.caller import caller
from bench.imports import imports
from bench.pipeline import files, producer, soak, stored
from bench.row import Bench

BENCHES = [
    Bench("caller", caller),
    Bench("producer", producer),
    Bench("file", files),
    Bench("stored", stored),
    Bench("imports", imports),
    Bench("soak", soak, by_default=False),
]
