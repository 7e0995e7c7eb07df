"""How Sphinx makes the pages: ``make docs`` calls it, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import generated

from tobyqa import __version__

project = "tobyqa"
copyright = "the tobyqa developers, BSD-3-Clause"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]

# Equations are plain text, so that they can be read anywhere; code says what it is.
highlight_language = "text"
default_role = "py:obj"
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# What a door only does as its package says is said there.
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
# Types are in the texts of the docstrings, where they can be read.
autodoc_typehints = "none"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # `safe, limit` are said once
napoleon_use_rtype = False

html_theme = "furo"
html_title = "tobyqa"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False


def setup(app: Any) -> None:
    """Fill in what is made from the package when a page is read."""
    app.connect("source-read", generated.fill)
