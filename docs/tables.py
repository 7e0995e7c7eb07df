"""Put generated tables into the pages beside this file.

    python docs/tables.py            write them
    python docs/tables.py --check    exit with 1 if a page is not up to date

A page says where a table belongs by ``<!-- table: FILE # HEADLINE -->`` and, after it,
``<!-- end of table -->``; all between is replaced by what the file, a report's README,
has under that headline.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
PLACE = re.compile(
    r"(<!-- table: (?P<file>\S+) # (?P<headline>[^\n]+) -->\n)"
    r".*?(<!-- end of table -->)",
    re.DOTALL,
)


def section(path: Path, headline: str) -> str:
    """What a Markdown file has under a headline of the second level."""
    _, *sections = path.read_text(encoding="utf-8").split("\n## ")
    bodies = dict(text.split("\n", 1) for text in sections)
    return bodies[headline].strip()


def filled(page: str) -> str:
    """The page with the present tables."""

    def table(place: re.Match[str]) -> str:
        body = section(HERE / place["file"], place["headline"])
        return f"{place[1]}\n{body}\n\n{place[4]}"

    return PLACE.sub(table, page)


def main(check: bool) -> int:
    outdated = 0
    for path in sorted(HERE.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        if filled(page) != page:
            outdated += 1
            print(f"{path.name}: {'not up to date' if check else 'written'}")
            if not check:
                path.write_text(filled(page), encoding="utf-8")
    return int(check and outdated > 0)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
