"""A store of any size, made in the store itself: the shape of an asynchronous run, without running one.

`python -m bench.synthetic DIR SPANS` makes one; `rl-insight sessions --data-dir DIR` and all other commands read it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rl_insight.store import Store

RUN = "synthetic"
SESSIONS_PER_STEP = 64
SPANS_PER_STEP = SESSIONS_PER_STEP * 16 + SESSIONS_PER_STEP // 8 + 6
WORKERS = 16
EPOCH = 1_700_000_000_000_000_000
STEPS_AT_ONCE = 200


def build(data_dir: Path, spans: int, workers: int = WORKERS) -> int:
    """Make a store with about so many spans, on eight lanes a worker; returns how many. An existing one is kept."""
    data_dir.mkdir(parents=True, exist_ok=True)
    store = Store.open(data_dir)
    try:
        cursor = store.cursor()
        found = cursor.execute("SELECT count(*) FROM span").fetchone()
        if found and found[0]:
            return int(found[0])
        steps = max(1, spans // SPANS_PER_STEP)
        seq = 1
        for step in range(0, steps, STEPS_AT_ONCE):
            until = min(step + STEPS_AT_ONCE, steps)
            part = {"first": step * SESSIONS_PER_STEP, "last": until * SESSIONS_PER_STEP - 1, "run": RUN, "seq": seq}
            cursor.execute(_sql("spans"), {**part, "workers": workers})
            cursor.execute(_sql("facts"), {**part, "workers": workers})
            cursor.execute(_sql("points"), part)
            cursor.execute(_sql("tags"), {"seq": seq})
            seq += 2 * SPANS_PER_STEP * STEPS_AT_ONCE
        made = steps * SPANS_PER_STEP
        now = EPOCH + steps * 1_000_000_000
        for statement in _sql("rest").split(";\n"):
            if statement.strip():
                values = {"run": RUN, "now": now, "lines": made, "seq": seq, "step": steps - 1, "workers": workers}
                cursor.execute(statement, {key: value for key, value in values.items() if f"${key}" in statement})
        cursor.close()
        store.checkpoint()
        return made
    finally:
        store.close()


def _sql(name: str) -> str:
    return (Path(__file__).parent / f"synthetic_{name}.sql").read_text(encoding="utf-8")


if __name__ == "__main__":
    print(f"{build(Path(sys.argv[1]), int(sys.argv[2])):,} spans")
