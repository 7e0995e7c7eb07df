"""What the pages show is what happens: console blocks are run here.

Blocks with ``>>>`` are doctests, which pytest finds in README.md and docs/ by itself.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import consoles
import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site" / "html"

BARE = re.compile(r"(not run: [^\n]+ -->\n+)?^```python\n(?!>>>)(.*)", re.MULTILINE)
WITH_COMMANDS = [
    page for page in consoles.PAGES if [*consoles.steps(page.read_text("utf-8"))]
]


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_commands_print_what_the_page_shows(page):
    wrong = consoles.differences(page)
    assert wrong == [], "python docs/consoles.py --write puts in what was printed"


def test_there_are_commands():
    assert {"README.md", "docs/tutorials/instrument.md"} <= set(
        map(name, WITH_COMMANDS)
    )


@pytest.mark.parametrize("page", consoles.PAGES, ids=name)
def test_python_in_a_page_is_a_doctest_or_a_file_or_says_why_not(page):
    found = BARE.findall(page.read_text(encoding="utf-8"))
    assert [first_line for reason, first_line in found if not reason] == []


@pytest.mark.parametrize(
    ("shown", "real", "agrees"),
    [
        ("temp = 312.0 ± 3.2 K", "temp = 312.1 ± 3.2 K", True),
        ("temp = 312.0 ± 3.2 K", "temp = 312.0 ± 3.6 K", False),
        ("temp = 312.0 K", "gap = 312.0 K", False),
        ("a 1\n...\nb 2", "a 1\nwhatever\n5\nb 2\n", True),
        ("a 1\n...\nb 2", "a 1\nwhatever\n5\nb 3\n", False),
        ("0.00026", "0.00027", True),
        ("2.5e-07", "2.5e-05", False),
        ("done", "done and more", False),
    ],
)
def test_what_counts_as_the_same(shown, real, agrees):
    assert consoles.Step("", shown, (0, 0), numbers_vary=False).agrees(real) is agrees


def test_a_page_is_written_from_what_was_printed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```{code-block} text\n:caption: a.txt\n\none\n```\n\n"
        "```console\n$ cat a.txt\nzero\n$ echo \\\n  two\n2\n$ echo three\n```\n\n"
        "<!-- not run: no such thing -->\n\n```console\n$ nonsense\n```\n"
    )
    consoles.write(page, consoles.differences(page))
    written = page.read_text()
    assert "$ cat a.txt\none\n$ echo \\\n  two\ntwo\n$ echo three\n```" in written
    assert consoles.differences(page) == []


def test_a_command_that_fails_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ exit 3\n```\n")
    with pytest.raises(RuntimeError, match="exit 3\nended with 3"):
        consoles.differences(page)


# The site, where `make docs` has built it ---------------------------------------------


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver (apt-get install chromium-driver)")
    if not SITE.is_dir():
        pytest.skip("needs the pages (make docs)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # No sandbox and no shared memory: both are missing in many containers.
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    service = webdriver.ChromeService(executable_path=driver)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_window_size(1300, 1000)
    yield driver
    driver.quit()


TOO_WIDE = """
return [...document.querySelectorAll(".table-wrapper, img")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 ||
               e.getBoundingClientRect().right > document.documentElement.clientWidth)
  .map(e => e.innerText.slice(0, 80) || e.src)
"""


def test_no_table_is_wider_than_its_place(browser):
    pages = sorted(SITE.rglob("*.html"))
    assert len(pages) > 20
    wide = {}
    for page in pages:
        browser.get(page.as_uri())
        if found := browser.execute_script(TOO_WIDE):
            wide[str(page.relative_to(SITE))] = found
    assert wide == {}
