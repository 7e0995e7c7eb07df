"""A run that survives: started, killed in mid-air, repeated, and reported.

    python examples/crash_demo.py [FOLDER]

Runs ``tobyqa run`` on `examples/instrument.py`, kills it with SIGKILL after a third of
its readings, repeats the very same command, and writes a report (extra `plot`).
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
READINGS = 60


def readings_in(journal: Path) -> int:
    if not journal.exists():
        return 0
    return journal.read_bytes().count(b'"event": "tell"')


def tobyqa(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tobyqa.cli", *arguments]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/crash-demo")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    journal = folder / "run.jsonl"
    flags = ["--maxfev", str(READINGS), "--journal", str(journal), "--quiet"]
    program = [sys.executable, str(HERE / "instrument.py"), str(folder / "count")]
    command = tobyqa("run", str(HERE / "instrument.toml"), *flags, "--", *program)

    first = subprocess.Popen(command)
    while first.poll() is None and readings_in(journal) < READINGS // 3:
        time.sleep(0.01)
    first.kill()
    first.wait()
    print(f"killed after {readings_in(journal)} readings; the same command again:\n")

    subprocess.run(command, check=True)
    report = folder / "report.html"
    subprocess.run(
        tobyqa("report", str(journal), "-o", str(report)),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    print(f"\n{readings_in(journal)} readings in the journal; the report: {report}")


if __name__ == "__main__":
    main()
