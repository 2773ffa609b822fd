"""A process that is pressed: threads record for some seconds, at a rate or as fast as they can, and never wait.

`python -m bench.work.pressed THREADS SECONDS RATE URL`; RATE is events a second of the whole process, 0 for all it can.
It says `ready`, waits for a line, and at the end says what became of everything it recorded.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import rl_insight as insight
from bench.work.workload import mix

BLOCK = 100


def main() -> None:
    threads, seconds, rate, url = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    insight.init(project="bench", run="bench", config={"ship": {"sink": "http"}, "server": {"url": url}})
    insight.flush(30)
    print("ready", flush=True)
    sys.stdin.readline()
    recorded = [0] * threads
    pressing = [
        threading.Thread(target=_press, args=(recorded, number, seconds, rate / threads)) for number in range(threads)
    ]
    start, cpu = time.monotonic(), time.process_time()
    for thread in pressing:
        thread.start()
    for thread in pressing:
        thread.join()
    taken = time.monotonic() - start
    waiting = insight.status()
    delivered = insight.flush(120)
    status = insight.status()
    drained = time.monotonic() - start - taken
    insight.close()
    print(
        json.dumps(
            {
                "recorded": sum(recorded),
                "seconds": taken,
                "waiting": waiting.buffered,
                "spooled": waiting.spooled_bytes,
                "drained": drained,
                "delivered": delivered,
                "lost": status.lost,
                "cpu": time.process_time() - cpu,
            }
        )
    )


def _press(recorded: list[int], number: int, seconds: float, rate: float) -> None:
    start = time.monotonic()
    end, done = start + seconds, 0
    while (now := time.monotonic()) < end:
        if rate and done > (now - start) * rate:
            time.sleep(0.002)
            continue
        mix(BLOCK, done)
        done += BLOCK
    recorded[number] = done


if __name__ == "__main__":
    main()
