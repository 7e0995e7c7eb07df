"""A pretended instrument: three knobs, a noisy reading, a drift with every reading.

It reads the point from standard input and prints the reading for ``tobyqa run``:

    echo '{"current": 0, "gap": 0, "angle": 0}' | python3 examples/instrument.py

The lowest reading is at current 1, gap 2, angle 0.5. The argument names the file in
which the readings are counted, which makes the drift; without it there is none.
"""

import json
import random
import sys
from pathlib import Path

OPTIMUM = {"current": 1.0, "gap": 2.0, "angle": 0.5}
NOISE = 0.05
DRIFT = 0.1  # per reading


def readings_before(counter: "Path | None") -> int:
    """How many readings were taken before this one; counts it."""
    if counter is None:
        return 0
    count = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(count + 1))
    return count


def main() -> None:
    point = json.load(sys.stdin)
    count = readings_before(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    d = [point[name] - best for name, best in OPTIMUM.items()]
    true = d[0] ** 2 + 2.0 * d[1] ** 2 + d[2] ** 2 + 0.5 * d[0] * d[1]
    value = true + DRIFT * count + random.gauss(0.0, NOISE)
    print(json.dumps({"value": value, "t": count, "sigma": NOISE, "true": true}))


if __name__ == "__main__":
    main()
