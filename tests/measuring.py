"""A program for the tests: a drifting bowl, read without noise, fast to start.

    python -S -E measuring.py LOG [pause]

Notes the number of each trial in LOG before it answers; every eleventh trial fails.
"""

import json
import os
import sys
import time


def main() -> None:
    point = json.load(sys.stdin)
    k = int(os.environ["TOBYQA_INDEX"])
    with open(sys.argv[1], "a") as log:
        log.write(f"{k}\n")
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    if k % 11 == 10:
        sys.exit("door open")
    value = sum((v - 1.0) ** 2 for v in point.values()) + 0.1 * k
    print("warming up")
    print(json.dumps({"value": value, "t": 2.0 * k, "lamp": "on"}))


if __name__ == "__main__":
    main()
