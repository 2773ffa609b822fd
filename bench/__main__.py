"""`python -m bench`: runs the benches, prints one table, and keeps the figures in bench/results/."""

from __future__ import annotations

import argparse
import sys

from bench.benches import BENCHES
from bench.machine import machine
from bench.row import Plan, Row
from bench.table import as_json, save, show


def main() -> int:
    options = _options()
    plan = Plan(quick=options.quick, lines=options.lines)
    chosen = [bench for bench in BENCHES if (bench.name in options.only if options.only else bench.by_default)]
    rows: list[Row] = []
    failed = False
    for bench in chosen:
        print(f"bench: {bench.name} …", file=sys.stderr, flush=True)
        try:
            rows += bench.run(plan)
        except Exception as error:  # one bench that fails must not cost the figures of the others
            failed = True
            print(f"bench: {bench.name} failed: {error}", file=sys.stderr, flush=True)
    peers: dict[str, str] = {}
    if options.peers:
        from bench.peers import add_peers

        peers = add_peers(rows, plan)
    about = machine()
    text = as_json(rows, peers, about)
    if not options.quick:
        save(text)
    if options.json:
        print(text)
    else:
        show(rows, peers, about)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = [bench.name for bench in BENCHES]
    parser.add_argument("--only", action="append", choices=names, help="run this bench; may be given again")
    parser.add_argument("--quick", action="store_true", help="see that everything runs; the figures mean nothing")
    parser.add_argument("--peers", action="store_true", help="measure comparable libraries beside ours")
    parser.add_argument("--lines", type=int, default=0, help="how many events the soak records")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
