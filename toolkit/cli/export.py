"""`toolkit export`: writes a notebook as one HTML page that shows its widgets' last state, without scripts or network.

A widget is shown in its saved state, if the notebook was saved with its widgets' state. Otherwise it is shown in the
state in which its cell displayed it. The page says as of when.
"""

from __future__ import annotations

import argparse
import re
from html import escape
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..extras import need
from ..stored.writing import write_file

VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
_ACTIVE = ("<script", "javascript:", "<iframe", "<link", "@import", 'src="http', "src='http", "onerror=", "onload=")
"""Marks of an output that runs or loads something. Its plain text is shown instead."""
_SCRIPT = re.compile(r"<(script|iframe|object)\b.*?</\1\s*>|<link\b[^>]*>|\son\w+=(\"[^\"]*\"|'[^']*')", re.S | re.I)
_REMOTE = re.compile(r"\ssrc=[\"'](?=(https?:)?//)", re.I)
"""Pictures of a text that would be loaded from the network."""
_STYLE = """
body { max-width: 1000px; margin: 24px auto; padding: 0 16px; font: 15px/1.5 system-ui; color-scheme: light dark; }
pre { font: 12px/1.45 ui-monospace, monospace; overflow-x: auto; }
.input_area, .highlight { background: #8881; border-radius: 6px; padding: 4px 10px; }
.prompt, .anchor-link { display: none; }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: 1px 8px; text-align: right; }
img, svg { max-width: 100%; }
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK.ipynb")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page (default: NOTEBOOK.html in the same folder)")


def run(args: argparse.Namespace) -> int:
    """Write the page and return 0.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    out = args.out or args.notebook.with_suffix(".html")
    html = page_of(args.notebook)
    write_file(out, html.encode())
    print(f"wrote {out}: {len(html.encode()) / 1000:,.0f} kB, without scripts")
    return 0


def page_of(path: Path) -> str:
    """Return a notebook as an HTML page.

    Parameters
    ----------
    path : Path
        File of the notebook.

    Raises
    ------
    InputError
        If the file is no notebook.
    MissingPackage
        If nbconvert is not installed.
    """
    need("jupyterlab")  # which brings nbconvert
    import nbformat
    from nbconvert import exporters

    made: Any = exporters.HTMLExporter
    read: Any = nbformat.read
    try:
        notebook = read(path, as_version=4)
    except (ValueError, TypeError, AttributeError, nbformat.ValidationError) as error:
        message = f"{path} is not a notebook: {str(error)[:200]}"
        raise InputError(message, field="notebook", rule="notebook", value=str(path)) from None
    states = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "data" in output:
                output["data"] = kept(output["data"], states)
    exporter = made(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    body = _SCRIPT.sub("", exporter.from_notebook_node(notebook)[0])
    body = _REMOTE.sub(' data-not-loaded="', body)
    title = escape(path.stem)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    head += f"<style>{_STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def kept(data: dict[str, Any], states: dict[str, Any]) -> dict[str, Any]:
    """Return an output without what runs: of a widget its last picture, dated, in place of its view.

    Parameters
    ----------
    data : dict of str to object
        Output of a cell: MIME type → content.
    states : dict of str to object
        Saved states of the widgets, by model id.
    """
    view = data.get(VIEW)
    shown = {name: value for name, value in data.items() if name != VIEW and "javascript" not in name}
    pictures = [] if view is None else _pictures(view.get("model_id", ""), states)
    if pictures:
        shown["text/html"] = f"<div>{''.join(pictures)}</div>"
    html = "".join(shown.get("text/html", ""))
    if any(mark in html.lower() for mark in _ACTIVE):
        del shown["text/html"]
    return shown


def _pictures(model_id: str, states: dict[str, Any]) -> list[str]:
    """Return the last pictures of a panel, or of the panels in a container."""
    state = states.get(model_id, {}).get("state", {})
    own = [str(value) for name, value in state.items() if name.rpartition("__")[2] == "picture" and value]
    inner = [one.removeprefix("IPY_MODEL_") for one in state.get("children", ())]
    return own or [picture for child in inner for picture in _pictures(child, states)]
