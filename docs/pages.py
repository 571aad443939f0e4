"""What is generated before the documentation is built: a page for each public name, tables of the wire, notebooks."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import shutil
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

METHODS = (
    ("session", "Session", "toolkit.session.Session", "Everything a session does, on the venue it is connected to."),
    ("info", "Queries", "toolkit.client.reads.info.Info", "`session.info`: one method for each query, as DataFrames."),
    (
        "exchange",
        "Actions",
        "toolkit.client.orders.exchange.Exchange",
        "`session.exchange`: one method for each action.",
    ),
    ("stream", "Live feed", "toolkit.client.stream.stream.Stream", "`session.stream`: live objects."),
    (
        "intents",
        "Intents",
        "toolkit.session_methods.Intents",
        "`session.intents`: what this client recorded before sending, and requests shown before they are sent.",
    ),
    (
        "parent-orders-of-a-session",
        "Parent orders of a session",
        "toolkit.session_methods.ParentOrders",
        "`session.parent_orders`: orders that are traded over a time.",
    ),
    (
        "session-limits",
        "Limits of a session",
        "toolkit.session_methods.SessionLimits",
        "`session.limits`: what every order is checked against before it is signed, and the kill switch.",
    ),
    (
        "permissions",
        "Permissions",
        "toolkit.session_methods.SessionPermissions",
        "`session.permissions`: who may act for the account.",
    ),
    (
        "listed-products",
        "Listed products",
        "toolkit.session_methods.Products",
        "`session.products`: what the venue lists.",
    ),
    (
        "builder",
        "Builders",
        "toolkit.session_methods.Builder",
        "`toolkit.Builder(session)`: place orders for traders who authorised this builder.",
    ),
    (
        "venue",
        "The local venue",
        "toolkit.venue.local.LocalVenue",
        "`session.venue`: a whole exchange in this process.",
    ),
    (
        "venue-control",
        "Venue control",
        "toolkit.venue.lab.control.Controls",
        "`session.venue.control`: what the owner of a venue can do to it.",
    ),
    (
        "faults",
        "Faults",
        "toolkit.venue.lab.faults.Faults",
        "What `session.venue.control.add_fault` arms: a bad day on demand.",
    ),
    (
        "trouble",
        "Troubles of a venue",
        "toolkit.venue.trouble.trouble.Trouble",
        "What `LocalVenue(trouble=…)` takes, and `control.set_trouble`. The kinds stand on the laboratory's page.",
    ),
    (
        "context",
        "Strategy context",
        "toolkit.research.context.Context",
        "`ctx`: what a strategy sees, and how it acts, on history, on paper and live.",
    ),
)
"""Page, title, class, what it is: classes that are shown on their page, and get one for each method."""

MODULES = (
    ("wallet", "Wallets", "toolkit.wallet"),
    ("environments", "Environments", "toolkit.environments"),
    ("orders", "Orders", "toolkit.orders"),
    ("products", "Products", "toolkit.products"),
    ("checks", "Pre-trade checks", "toolkit.checks"),
    ("margin", "Margin and funding", "toolkit.margin"),
    ("plots", "Plots", "toolkit.plots"),
    ("research", "Research", "toolkit.research"),
    ("runs", "Runs with a name", "toolkit.research.live_trading.attached"),
    ("strategy", "Strategies", "toolkit.research.strategy"),
    ("indicators", "Indicators", "toolkit.research.indicators"),
    ("metrics", "Measures", "toolkit.research.analysis.metrics"),
    ("luck", "Is it luck?", "toolkit.research.analysis.luck"),
    ("formulas", "Formulas", "toolkit.research.formulas"),
    ("models", "Models of fees, latency, queues and impact", "toolkit.research.backtesting.models"),
    ("data", "Data", "toolkit.research.data"),
    ("gym", "Learners", "toolkit.gym"),
    ("exchanges", "Markets of other exchanges", "toolkit.exchanges"),
    ("widgets", "Widgets", "toolkit.widgets"),
    ("live-objects", "Live objects", "toolkit.client.stream.kinds"),
    ("live", "What all live objects have", "toolkit.client.stream.live"),
    ("receipts", "Receipts", "toolkit.client.orders.receipts"),
    ("parent-orders", "Parent orders", "toolkit.client.parent_orders.parents"),
    ("candle-cache", "The candle cache", "toolkit.client.reads.candle_cache"),
    ("market", "The simulated market", "toolkit.venue.model.market"),
    ("development", "Development accounts", "toolkit.venue.development"),
    ("class-room", "A class as an object", "toolkit.classroom.room"),
    ("joining", "Joining a class", "toolkit.classroom.joining"),
    ("signing", "Signing", "toolkit.protocol.signing"),
    ("report", "Reports of an account", "toolkit.report"),
    ("errors", "Errors", "toolkit.errors"),
    ("learn", "Exercises", "toolkit.learn"),
    ("testing", "Fixtures for your tests", "toolkit.testing"),
)
"""Page, title, module: modules that get a page for each public function and class."""

PREAMBLE = """\
import pandas as pd
import toolkit
from toolkit import margin, orders, plots, report, research
from toolkit.research import data, formulas, indicators, luck, metrics, models

session = toolkit.connect(clock="manual")  # its market is the same each time
bars = session.klines("BTCUSDC", "1h", limit=200)


class Cross(research.Strategy):
    fast, slow = 5, 20

    def on_bar(self, ctx, bar):
        close = ctx.bars(bar.symbol).close
        if len(close) >= self.slow:
            rising = close[-self.fast :].mean() > close[-self.slow :].mean()
            ctx.target(bar.symbol, "0.1" if rising else "-0.1")


run = research.backtest(Cross, bars)
"""
"""What the examples of the docstrings start from. Each object's examples have a session of their own."""

ENTRY = ("toolkit.session.connect", "toolkit.session.ask")
"""Functions shown with the session."""
SHOWN = {
    "session": ("toolkit.session.Session", "toolkit.session.AsyncSession"),
    "builder": ("toolkit.session_methods.Builder", "toolkit.session_methods.AsyncBuilder"),
}
"""Page → the classes shown on it, where they are more than the one whose methods it lists."""


ELSEWHERE = {"15-testnet", "22-class"}
"""Lessons that the site has with its pages on Testnet and on classes."""
SIGNING = "03-signing"
"""The lesson that is read after lesson 14."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the reference: its name, title, opening words, the objects it lists, and the classes it shows."""

    name: str
    title: str
    opening: str
    objects: tuple[str, ...]
    classes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the page as reStructuredText."""
        lines = [self.title, "=" * len(self.title), "", self.opening, ""]
        lines += [f".. autoclass:: {name}\n" for name in self.classes]
        lines += [".. autosummary::", "   :toctree: .", ""]
        return "\n".join([*lines, *(f"   {name}" for name in self.objects), ""])


def write(folder: Path, root: Path) -> list[str]:
    """Write everything that is generated into `folder`, afresh; return the pages that list public names."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    from toolkit.venue.served.venue_routes import DOCUMENTS

    listed = list(reference())
    for page in listed:
        (folder / f"{page.name}.rst").write_text(page.text(), encoding="utf-8")
    (folder / "commands.md").write_text(_commands(), encoding="utf-8")
    (folder / "codes.md").write_text(_codes(), encoding="utf-8")
    pages = [*(page.name for page in listed), "commands", "codes"]
    (folder / "index.md").write_text(_toctree("Reference", pages), encoding="utf-8")
    for name, title, table in _tables():
        (folder / f"wire-{name}.md").write_text(f"# {title}\n\n{table}\n", encoding="utf-8")
    for path, document in DOCUMENTS.items():
        (folder / path[1:]).write_bytes(document())
    names = _notebooks(root / "notebooks", folder)
    lessons = sorted(
        (name for name in names if name.startswith("walkthroughs/") and "/solutions/" not in name), key=_place
    )
    apart = {name for name in lessons if Path(name).name in ELSEWHERE}
    (folder / "walkthroughs.md").write_text(_toctree("Lessons", [one for one in lessons if one not in apart]), "utf-8")
    solutions = [name for name in names if "/solutions/" in name]
    (folder / "solutions.md").write_text(_toctree("Solutions", solutions), encoding="utf-8")
    return [f"{folder.name}/{page.name}.rst" for page in listed]


def reference() -> Iterable[Page]:
    """Return the pages of the reference, in order."""
    for name, title, path, opening in METHODS:
        module, _, kind = path.rpartition(".")
        if importlib.util.find_spec(module) is None:
            continue
        methods = tuple(
            f"{path}.{method}" for method in _public_methods(getattr(importlib.import_module(module), kind))
        )
        entry = ENTRY if name == "session" else ()
        yield Page(name, title, opening.replace("`", "``"), (*entry, *methods), SHOWN.get(name, (path,)))
    for name, title, path in MODULES:
        if importlib.util.find_spec(path) is None:
            continue
        objects = tuple(f"{path}.{public}" for public in public_names(importlib.import_module(path)))
        if objects:
            opening = inspect.getdoc(importlib.import_module(path)) or ""
            yield Page(name, title, opening, objects)


def signature_of(app: object, what: str, name: str, obj: object, *others: object) -> tuple[str, None] | None:
    """Leave out the parameters of a class of which no caller makes an object. Its docstring says "Made by"."""
    return ("", None) if what == "class" and "Made by" in (obj.__doc__ or "") else None


def public_names(module: ModuleType) -> list[str]:
    """Return a module's public functions and classes: those of `__all__`, or those that it defines."""
    named = getattr(module, "__all__", None)
    # The methods of flows are those of a session, where they are listed.
    names = named if named is not None else [name for name in vars(module) if not re.match(r"_|\w+Flows$", name)]
    found = []
    for name in names:
        value = getattr(module, name)
        own = named is not None or getattr(value, "__module__", "") == module.__name__
        if own and (inspect.isclass(value) or inspect.isfunction(value)):
            found.append(name)
    return found


def _public_methods(kind: type) -> list[str]:
    names = []
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if not name.startswith("_") and (inspect.isfunction(member) or hasattr(member, "__get__")):
            names.append(name)
    return [name for name in names if inspect.getdoc(getattr(kind, name, None))]


def _tables() -> Iterable[tuple[str, str, str]]:
    import wire_tables

    tables: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("actions", "Actions on the wire", wire_tables.actions_table),
        ("info", "Queries on the wire", wire_tables.queries_table),
        ("feed", "Feed channels on the wire", wire_tables.channels_table),
    )
    for name, title, table in tables:
        yield name, title, re.sub(r"^###", "##", table(), flags=re.MULTILINE)


def _commands() -> str:
    """Return the help of every command, as it is printed."""
    from toolkit.__main__ import COMMANDS, build_parser

    parts = ["# Command line", "", "`python -m toolkit COMMAND`, also installed as `toolkit`.", ""]
    for name in COMMANDS:
        commands = next(action for action in build_parser(name)._actions if isinstance(action.choices, dict))
        assert isinstance(commands.choices, dict)
        parts += [f"## {name}", "", "```text", commands.choices[name].format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def _codes() -> str:
    """Return what each txCode of the local venue means."""
    from toolkit.venue.engine.commands import TxCode

    rows = [f"| {code.value} | {code.name} | {code.meaning} |" for code in TxCode]
    opening = inspect.getdoc(TxCode) or ""
    return "\n".join(["# txCodes", "", opening, "", "| txCode | Name | Meaning |", "|---|---|---|", *rows, ""])


def _notebooks(source: Path, folder: Path) -> list[str]:
    (folder / "walkthroughs" / "solutions").mkdir(parents=True)
    names = sorted(path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("[!.]*.ipynb"))
    names.sort(key=lambda name: (name != "index", name.startswith("solutions/")))
    for name in names:
        book = json.loads((source / f"{name}.ipynb").read_text(encoding="utf-8"))
        for cell in book["cells"]:
            if any("image/png" in output.get("data", {}) for output in cell.get("outputs", ())):
                cell["metadata"]["mystnb"] = {"image": {"alt": alternative("".join(cell["source"]))}}
        for number, cell in enumerate(book["cells"]):  # sphinx finds pictures in files only
            for picture, kinds in cell.pop("attachments", {}).items():
                file = f"{Path(name).name}-{number}-{picture}"
                (folder / "walkthroughs" / name).parent.joinpath(file).write_bytes(b64decode(kinds["image/png"]))
                cell["source"] = [line.replace(f"attachment:{picture}", file) for line in cell["source"]]
        (folder / "walkthroughs" / f"{name}.ipynb").write_text(json.dumps(book), encoding="utf-8")
    return [f"walkthroughs/{name}" for name in names]


def _place(name: str) -> tuple[bool, str]:
    lesson = Path(name).name
    return lesson != "index", "14-z" if lesson == SIGNING else lesson


def alternative(code: str) -> str:
    """Return what a screen reader says in place of a figure: the titles that the code gives it, or what draws it."""
    titles = re.findall(r'title=f?"([^"]+)"', code) or re.findall(r"\b((?:plots|report)\.\w+)\(", code)
    return f"Figure: {'; '.join(titles)}" if titles else "The figure that the code above draws"


def glossary_terms(text: str) -> list[str]:
    """Return the terms of the glossary page: the lines of its directive that are not indented."""
    block = re.search(r"^```\{glossary\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line for line in block[1].splitlines() if line and not line[0].isspace()] if block else []


def _toctree(title: str, names: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])
