"""A pretended furnace: two knobs, a noisy reading, and a drift that is slow.

    python3 examples/furnace.py 300 1.5 09:04            one reading, to be typed in
    python3 examples/furnace.py --play run.jsonl 20 2026-11-16T10:00
                                                         20 readings, six minutes apart

It shows a loss; the lowest is at 312 K and 0.8 mm. Over the day it creeps up, by 1.2 a
day and with the temperature of the hall. With the time of a day the day is the first.
"""

from __future__ import annotations

import argparse
import math
import random
from datetime import datetime, timedelta

FIRST_DAY = datetime(2026, 11, 16)
NOISE = 0.05
PAUSE = timedelta(minutes=6)


def reading(temp: float, gap: float, when: datetime) -> float:
    """What is shown at this moment; its noise is that of this moment."""
    a, b = (temp - 312.0) / 10.0, gap - 0.8
    loss = 4.0 + a**2 + 2.0 * b**2 + 0.6 * a * b
    days = (when - FIRST_DAY) / timedelta(days=1)
    drift = 1.2 * days + 0.3 * math.sin(2.0 * math.pi * days)
    return loss + drift + random.Random(when.isoformat()).gauss(0.0, NOISE)


def play(journal: str, count: int, when: datetime) -> None:
    """Take so many readings and hand them in, as the commands do."""
    from tobyqa import Optimizer  # here, so that the furnace starts fast

    with Optimizer.resume(journal) as opt:
        for _ in range(count):
            trial = opt.ask()
            value = round(reading(*trial.x, when), 2)
            opt.tell(trial, value, when.timestamp())
            when += PAUSE
        print(f"{count} readings, the last one at {when - PAUSE:%H:%M}: {value}")


def moment(text: str) -> datetime:
    """A date with its time, or a time of the first day."""
    if "T" in text:
        return datetime.fromisoformat(text)
    clock = datetime.strptime(text, "%H:%M")
    return FIRST_DAY.replace(hour=clock.hour, minute=clock.minute)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--play", metavar="JOURNAL", help="take many readings")
    parser.add_argument("values", nargs="*", help="temp gap time, or count time")
    args = parser.parse_args()
    *numbers, when = args.values
    if args.play:
        play(args.play, int(numbers[0]), moment(when))
    else:
        temp, gap = map(float, numbers)
        print(f"{reading(temp, gap, moment(when)):.2f}")


if __name__ == "__main__":
    main()
