"""Writes `session.info` and `session.exchange` from the declarations of the wire: `python -m tests.methods`.

The two modules are ordinary source, so that editors and type checkers show each method with its parameters and its
docstring. A test compares them with the declarations. The lines below `Examples` are written by hand in the modules,
and are kept.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from toolkit.client.orders.exchange_flows import python_name
from toolkit.client.reads.info_flows import ANNUALISED, default_of
from toolkit.errors import capital
from toolkit.protocol.actions import ACTIONS, Action
from toolkit.protocol.enums import ENUMS
from toolkit.protocol.fields import Bool, DecimalText, EnumName, Field, Int, Items, Object
from toolkit.protocol.orders.item_rules import is_bracket
from toolkit.protocol.reads.endpoint import Endpoint, Param
from toolkit.protocol.reads.info_queries import ENDPOINTS

ROOT = Path(__file__).resolve().parent.parent
INFO = ROOT / "toolkit/client/reads/info.py"
EXCHANGE = ROOT / "toolkit/client/orders/exchange.py"
WIDTH = 120
"""Columns of a line, as in the rest of the code."""
GLUE = "\0"
"""Stands for a space where no line ends."""

INFO_HEAD = '''\
"""`session.info`: one method for each query of the Info API, synchronous or awaited.

`python -m tests.methods` writes this module from the declarations in `toolkit/protocol/reads/info`. The lines below
`Examples` are written by hand, and are kept.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from ..io.flow import Asynchronous, Flow, Synchronous, flow
from .info_flows import InfoFlows

if TYPE_CHECKING:
    import pandas as pd


class QueryFlows(InfoFlows):
    """The queries of Info and AsyncInfo, one method each."""
'''
INFO_TAIL = '''

class Info(QueryFlows, Synchronous):
    """The queries of the Info API, one method each. See `help(session.info.fills)`."""


class AsyncInfo(QueryFlows, Asynchronous):
    """The asynchronous twin of Info: the same methods as coroutine functions."""
'''
EXCHANGE_HEAD = '''\
"""`session.exchange`: one method for each action of the interface, synchronous or awaited.

`python -m tests.methods` writes this module from the declarations in `toolkit/protocol/actions.py`. The lines below
`Examples` are written by hand, and are kept.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from ...orders import Bracket, Order
from ..io.flow import Asynchronous, Flow, Synchronous, trading_flow
from .exchange_flows import ExchangeFlows
from .receipts import UNSET, Receipt, Unset


class ActionFlows(ExchangeFlows):
    """The actions of Exchange and AsyncExchange, one method each."""
'''
EXCHANGE_TAIL = '''

class Exchange(ActionFlows, Synchronous):
    """The interface's actions, one method each. See `help(session.exchange.place_order)`."""


class AsyncExchange(ActionFlows, Asynchronous):
    """The asynchronous twin of Exchange: the same methods as coroutine functions."""
'''

TYPES = {
    "integer": "int",
    "page": "int",
    "time": "int | float | str | date | datetime | timedelta",
    "flag": "bool",
    "code": "str | int",
    "symbol": "str | int",
}
"""Kind of a query's parameter → what a caller may give, as an annotation. Other kinds are text."""
LISTED = "funding_rate_history"
"""The query of which `session.info` joins the answers for several products."""
DEFAULTS: Mapping[str, Mapping[str, str | int | None]] = {
    "approve_agent": {"agent_address": None, "agent_name": None, "validity_seconds": 0},
    "approve_agent_to_builder": {"validity_seconds": 0},
    "vault_create": {"description": "", "currency_code": 1},
    "vault_deposit": {"currency_code": 1},
    "vault_withdraw": {"currency_code": 1},
    "vault_pre_withdraw": {"currency_code": 1},
    "vault_rebalance": {"currency_code": 1},
}
"""Method of an action → defaults of arguments that the venue requires."""
REPLACING = "approve_agent"
"""Method that has an argument which says that another agent is meant to end."""
COMPLETE = (
    "`frame.attrs['missing']` says why rows may be missing, or '', `['moved']` how many changed while they were read."
)
"""Line of a query that reads all pages."""
QUERY_RAISES = {
    "MalformedRequest": "For a value that breaks its rule.",
    "ExchangeError": "When the venue refuses.",
    "TransportError": "When no usable answer came.",
}
ACTION_RAISES = {
    "WalletError": "Without the key that signs it.",
    "MalformedRequest": "For a broken field.",
    "ExchangeError": "When the venue refuses.",
    "NotSent": "When it did not leave this machine.",
    "OutcomeUnknown": "Without an answer. `session.resolve()` settles it.",
}


@dataclass(frozen=True)
class Argument:
    """An argument of a method.

    Attributes
    ----------
    name : str
        Its name.
    annotation : str
        Its annotation.
    about : str
        Its description.
    default : str
        Source of its default, "" where it is required.
    keyword : bool
        Whether it is given by name only.
    items : tuple of str
        List below the description.
    """

    name: str
    annotation: str
    about: str
    default: str = ""
    keyword: bool = False
    items: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The argument in a signature."""
        return f"{self.name}: {self.annotation}{f' = {self.default}' if self.default else ''}"

    @property
    def entry(self) -> list[str]:
        """The lines of the argument in a docstring, with its types in words."""
        words = re.sub(r"Literal\[([^]]*)\]", r"{\1}", self.annotation)
        words = re.sub(r" \| Sequence\[.*\]", " | sequence of these", words).replace("Mapping[str, Any]", "mapping")
        # None only counts as a value where the default is another one.
        unset = {"Unset"} if "Unset" in words else {"None"}
        kinds = [kind for kind in words.split(" | ") if kind not in unset]
        said = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
        return described(f"{self.name} : {said}{', optional' if self.default else ''}", self.about, self.items)


def described(head: str, about: str, items: Iterable[str] = ()) -> list[str]:
    """Return the lines of an entry: a head, a description that gets a capital and a full stop, and a list."""
    about = f"{capital(about)}{'' if about.endswith(('.', ':')) else '.'}"
    lines = [head, *wrapped(about, "    ")]
    listed = [line for item in items for line in wrapped(f"- {item}", "    ", "      ")]
    return [*lines, "", *listed] if listed else lines


def wrapped(text: str, first: str, further: str = "", width: int = WIDTH - 8) -> list[str]:
    """Return text as lines, the first of which has an indent of its own."""
    indents = {"initial_indent": first, "subsequent_indent": further or first}
    return textwrap.wrap(text, width, **indents, break_long_words=False, break_on_hyphens=False)


def section(title: str, lines: Iterable[str]) -> list[str]:
    """Return the lines of a section of a docstring, after an empty one."""
    return ["", title, "-" * len(title), *lines]


def docstring(
    opening: Iterable[str], arguments: Iterable[Argument], returns: list[str], raises: Mapping[str, str], examples: str
) -> list[str]:
    """Return the lines of a method's docstring."""
    entries = [line for one in arguments for line in one.entry]
    return [
        *opening,
        *(section("Parameters", entries) if entries else ()),
        *section("Returns", returns),
        *section("Raises", (line for name, about in raises.items() for line in (name, f"    {about}"))),
        *section("Examples", examples.splitlines()),
    ]


def method(decorator: str, name: str, arguments: list[Argument], returns: str, doc: list[str], call: str) -> str:
    """Return the source of a method of a class: what it returns is the flow of a call."""
    texts = [one.source for one in arguments]
    if named := [at for at, one in enumerate(arguments) if one.keyword]:
        texts.insert(named[0], "*")
    # Lines end between parameters. One is only broken where it is longer than a line.
    glued = ", ".join(text.replace(" ", GLUE) if len(text) < WIDTH - 9 else text for text in ("self", *texts))
    head = f"def{GLUE}{name}({glued}){GLUE}->{GLUE}{returns}:"
    body = f"return{GLUE}(yield{GLUE}from{GLUE}{call})"
    lines = [
        f"    @{decorator}",
        *wrapped(head, " " * 4, " " * 8, WIDTH),
        f'        """{doc[0]}',
        *(f"        {line}".rstrip().replace("\\", r"\\") for line in doc[1:]),
        '        """',
        *wrapped(body, " " * 8, " " * 12, WIDTH),
    ]
    return "\n".join(lines).replace(GLUE, " ")


def is_required(param: Param) -> bool:
    """Return whether a caller must give a parameter. A session fills in some that the venue requires."""
    return (param.required or param.leading) and not param.fill


def query_method(endpoint: Endpoint, examples: str) -> str:
    """Return the source of the method of a query."""
    required = [param for param in endpoint.params.values() if is_required(param)]
    optional = [param for param in endpoint.params.values() if not is_required(param)]
    arguments = [Argument(param.name, _query_type(param), _query_about(endpoint, param)) for param in required]
    if endpoint.name == LISTED:
        about = f"{arguments[0].about}, or a list of these"
        arguments[0] = Argument("symbol", "str | int | Iterable[str | int]", about)
    for param in optional:
        default = default_of(param, windowed=endpoint.windowed)
        annotation = _query_type(param) + (" | None" if default is None else "")
        about = _query_about(endpoint, param)
        arguments.append(Argument(param.name, annotation, about, _source(default), keyword=True))
    shaping = ["exact", "index"]
    arguments.append(Argument("exact", "bool", "True gives Decimal (default: False, float64)", "False", keyword=True))
    about = "column that becomes the index (default: none)"
    arguments.append(Argument("index", "str | None", about, "None", keyword=True))
    if endpoint.windowed:
        shaping.append("progress")
        about = "True shows a bar, False none (default: when the read takes long)"
        arguments.append(Argument("progress", "bool | None", about, "None", keyword=True))
    opening = [
        f"{endpoint.summary}, as a DataFrame.",
        "",
        "Unknown fields follow under their wire names. The venue's raw answer is in `frame.attrs['raw']`.",
        *((COMPLETE,) if endpoint.windowed else ()),
        f'Source: docs/published.md, "Info API": GET {endpoint.path}.',
    ]
    returns = described("DataFrame", _rows(endpoint), _columns(endpoint))
    given = (f"{param.name}={param.name}" for param in (*required, *optional))
    call = _call("self._query", json.dumps(endpoint.name), *shaping, *given)
    doc = docstring(opening, arguments, returns, QUERY_RAISES, examples)
    return method("flow", endpoint.name, arguments, "Flow[pd.DataFrame]", doc, call)


def _call(function: str, *arguments: str) -> str:
    return f"{function}({', '.join(one.replace(' ', GLUE) for one in arguments)})"


def _source(value: object) -> str:
    """Return the source of a default."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _query_type(param: Param) -> str:
    if param.enum:
        known = ENUMS[param.enum]
        return _literal(known.names) + (" | int" if known.name_of else "")
    if param.kind == "choice":
        return _literal(param.choices)
    return "str | timedelta" if param.name == "interval" else TYPES.get(param.kind, "str")


def _literal(names: Iterable[str]) -> str:
    return f"Literal[{', '.join(map(json.dumps, names))}]"


def _query_about(endpoint: Endpoint, param: Param) -> str:
    words = [_accepts(param)]
    if endpoint.windowed and param.name == "page":
        words.append("default: all pages")
    elif param.default is not None and param.kind != "flag" and not is_required(param):
        words.append(f"default: {param.default}")
    said = ", ".join(filter(None, words))
    return f"{param.about} ({said})" if said else param.about


def _accepts(param: Param) -> str:
    if param.kind == "time":
        return "Unix s, ms, µs or ns, ISO text, a datetime, '7d' (ago) or 'yesterday', UTC without a zone"
    if param.kind in ("code", "symbol"):
        return "symbol or code"
    if param.name == "interval" and param.kind == "integer":
        return "'1m', '4h', '1d' or a timedelta"
    if param.fill:
        return "default: the session's account"
    return "" if param.enum or param.kind == "choice" else param.rule  # the type has the names


def _rows(endpoint: Endpoint) -> str:
    if endpoint.windowed:
        rows = f"All rows, oldest first. With `page` or `page_size` one page, {endpoint.order}."
    else:
        rows = f"Rows: {endpoint.order}." if endpoint.order else ""
    return f"{rows} Columns with dtype and unit:".strip()


def _columns(endpoint: Endpoint) -> Iterator[str]:
    for field in endpoint.record.fields:
        unit = f", {field.unit}" if field.unit else ""
        mark = "" if field.published or not endpoint.record.known else " [L]"
        yield f"`{field.column}`: {field.dtype}{unit}. {capital(field.about)}{mark}"
        if endpoint.name == ANNUALISED and field.column == "funding_rate":
            yield "`annualised`: float64, ratio per year. The rate if every interval of 365 days settled it"


def action_method(action: Action, examples: str) -> str:
    """Return the source of the method of an action."""
    defaults = DEFAULTS.get(action.method, {})
    entries = {python_name(field.name, action.type): field for field in action.fields if field.name != "dexChain"}
    required = [name for name, field in entries.items() if field.required and name not in defaults]
    arguments = [_action_argument(name, entries[name], action) for name in required]
    for name in (name for name in entries if name not in required):
        default = defaults.get(name)
        made = _action_argument(name, entries[name], action)
        about = made.about + (f" (default: {json.dumps(default)})" if default is not None else "")
        annotation = made.annotation + (" | None" if default is None else "")
        arguments.append(replace(made, about=about, annotation=annotation, default=_source(default)))
    if action.method == REPLACING:
        about = "True ends the approval of another agent that has the name (default: False, that is refused)"
        arguments.append(Argument("replace", "bool", about, "False", keyword=True))
    if action.expiry:
        about = "Unix ms after which the venue refuses it (default: in a minute). None: never"
        arguments.append(Argument("expiry_after", "int | Unset | None", about, "UNSET", keyword=True))
    if action.vault_required:
        arguments.append(Argument("vault_address", "str", "address of the vault to act for", keyword=True))
    elif action.vault:
        about = "address of the vault to act for (default: the account)"
        arguments.append(Argument("vault_address", "str | None", about, "None", keyword=True))
    signed = action.message if action.typed is None else f"typed data {action.typed.primary_type}"
    opening = [
        action.summary,
        "",
        f'Signed by: {action.signer} ({signed}). Source: docs/published.md, "Exchange API".',
    ]
    call = _call("self._act", json.dumps(action.method), *(f"{one.name}={one.name}" for one in arguments))
    doc = docstring(opening, arguments, ["Receipt"], ACTION_RAISES, examples)
    return method("trading_flow", action.method, arguments, "Flow[Receipt]", doc, call)


def _action_argument(name: str, field: Field, action: Action) -> Argument:
    if name == "symbol":
        return Argument(name, "str | int", "a product's symbol or code")
    about = ", ".join([field.rule.accepts, *([field.note] if field.note else [])])
    if field.name == "agentAddress" and not field.note:
        about += " (default: this wallet's agent)"
    if action.method == REPLACING and field.name == "agentName":
        about += " (default: 'toolkit-' and the first 8 digits of the address)"
    rule = field.rule.item if isinstance(field.rule, Items) else field.rule
    fields = rule.fields if isinstance(rule, Object) else ()
    items = (f"`{one.name}`: {one.rule.accepts}{' (required)' if one.required else ''}" for one in fields)
    return Argument(name, _action_type(field, action), about, items=tuple(items))


def _action_type(field: Field, action: Action) -> str:
    rule = field.rule
    if isinstance(rule, Items):
        # A single order or cancel is accepted without a list around it.
        order = "Order | Bracket" if is_bracket in action.shape.checks else "Order"
        item = "Mapping[str, Any]" if field.name == "cancels" else f"{order} | Mapping[str, Any]"
        return f"{item} | Sequence[{item}]"
    if isinstance(rule, EnumName):
        return _literal(rule.numbers)
    types = {Int: "int", Bool: "bool", DecimalText: "str | int | Decimal", Object: "Order | Mapping[str, Any]"}
    return types.get(type(rule), "str")


def examples_in(path: Path) -> dict[str, str]:
    """Return the lines below `Examples` of each method of a module, by its name."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = (ast.get_docstring(node) or "").partition("\nExamples\n--------\n")[2]
    return found


def texts() -> dict[Path, str]:
    """Return the text of each module, with the examples that it has now."""
    queries, actions = examples_in(INFO), examples_in(EXCHANGE)
    info = [query_method(one, queries.get(one.name, "")) for one in ENDPOINTS.values()]
    exchange = [action_method(one, actions.get(one.method, "")) for one in ACTIONS.values()]
    return {
        INFO: "\n".join([INFO_HEAD, "\n\n".join(info), INFO_TAIL]),
        EXCHANGE: "\n".join([EXCHANGE_HEAD, "\n\n".join(exchange), EXCHANGE_TAIL]),
    }


def main() -> None:
    """Write the modules."""
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
