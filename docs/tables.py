"""Put generated tables into the pages beside this file.

    python docs/tables.py            write them
    python docs/tables.py --check    exit with 1 if a page is not up to date

A page says where a table belongs by ``<!-- table: FILE -->`` and, after it,
``<!-- end of table -->``; all between is replaced by the file without its headline.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
PLACE = re.compile(
    r"(<!-- table: (?P<file>\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL
)


def filled(page: str) -> str:
    """The page with the present tables."""

    def table(place: re.Match[str]) -> str:
        text = (HERE / place["file"]).read_text()
        _, body = text.split("\n\n", 1)
        return f"{place[1]}\n{body.strip()}\n\n{place[3]}"

    return PLACE.sub(table, page)


def main(check: bool) -> int:
    outdated = 0
    for path in sorted(HERE.glob("*.md")):
        page = path.read_text()
        if filled(page) != page:
            outdated += 1
            print(f"{path.name}: {'not up to date' if check else 'written'}")
            if not check:
                path.write_text(filled(page))
    return int(check and outdated > 0)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
