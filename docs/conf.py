"""Settings of the documentation. Build it with `python -m sphinx -W --keep-going docs docs/_build/html`.

The reference pages are made from the docstrings, which are numpydoc, and the tables of the wire from the declarations.
The walkthroughs are the notebooks as they were executed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import pages  # noqa: E402

import toolkit  # noqa: E402

project = "toolkit"
author = "the toolkit's authors"
version = release = toolkit.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "glossary_links",
]
templates_path = ["templates"]
exclude_patterns = ["_build", "jupyter_execute", "templates", "static"]

autosummary_generate = pages.write(HERE / "api", HERE.parent)
autosummary_imported_members = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
add_module_names = False
toc_object_entries = False
default_role = "code"  # single backticks, as `help()` shows them
napoleon_google_docstring = False
# Types are words, not links: "sequence" would link `Live.sequence`.
napoleon_use_param = napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
python_maximum_signature_line_length = 90

nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "toolkit"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
copybutton_selector = "div:not(.highlight-text):not(.highlight-none) > div.highlight > pre"

suppress_warnings = ["mystnb.unknown_mime_type", "myst.xref_missing", "myst.header"]
"""Notebooks link to files beside them and choose their own headings."""

_kept: dict[str, list[str]] = {}


def setup(app: Any) -> None:
    """Open the branch of the present page alone: the whole tree of the reference on each page was most of the build."""
    app.connect("html-page-context", _open_one_branch, priority=400)  # before the theme draws the tree
    app.connect("autodoc-process-signature", pages.signature_of)
    app.connect("autodoc-process-docstring", _put_by, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _put_back, priority=600)


def _put_by(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep the text of an attribute from napoleon, which takes the words before a colon as its type."""
    if what in ("attribute", "data", "property") and "---" not in "".join(lines):
        _kept[name], lines[:] = lines[:], []


def _put_back(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    if name in _kept:
        lines[:] = _kept.pop(name)


def _open_one_branch(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if (whole := context.get("toctree")) is not None:
        context["toctree"] = lambda **options: whole(**{**options, "collapse": True})
