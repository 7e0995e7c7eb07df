"""What is said of the package in several places is the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import tobyqa

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_citation_has_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [tobyqa.__version__]


def test_the_changelog_has_the_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", text, re.MULTILINE)[1] == tobyqa.__version__


def test_the_oldest_versions_are_those_that_the_project_allows():
    oldest = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^(\w+)==([\d.]+);", oldest, re.MULTILINE))
    allowed = dict(re.findall(r'^ +"(numpy|scipy)>=([\d.]+)",$', PROJECT, re.MULTILINE))
    assert set(pinned) == {"numpy", "scipy"}
    assert pinned == {package: f"{version}.0" for package, version in allowed.items()}
