"""`python -m rl_insight.demo`: the training run alone. `rl-insight demo` adds a server and a live view."""

from __future__ import annotations

import json
import os
import sys

# The matrices are tiny: a pool of threads per process would cost more than all the learning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> int:
    from rl_insight.demo.controller import RunFailed
    from rl_insight.demo.options import parse
    from rl_insight.demo.run import run

    options = parse()
    try:
        result = run(options)
    except RunFailed as failure:
        print(f"the run failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(json.dumps(result.as_dict()))
    return 0 if result.summary is not None else 130


if __name__ == "__main__":
    sys.exit(main())
