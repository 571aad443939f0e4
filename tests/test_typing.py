"""What editors and type checkers see: every method with its real signature, and no name that is not there."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jedi
import pytest
from hatchling.builders.wheel import WheelBuilder
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import toolkit
from tests import methods
from tests.client.stream import LIVE_NAMES
from toolkit.client.stream.async_stream import AsyncStream
from toolkit.client.stream.stream import Stream

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = '''
"""Lines that must pass, and lines that must not, with the code of the error that mypy reports for them."""

import asyncio
from decimal import Decimal

import pandas as pd

import toolkit
from toolkit import Receipt, Session, orders

session = toolkit.connect(clock="manual")
made: Receipt = session.buy("BTCUSDC", "0.01", price=Decimal(60000), tif="POST_ONLY")
session.exchange.place_order([orders.buy("BTCUSDC", "0.01", 60000), {"symbolCode": 1}], expiry_after=None)
session.exchange.set_margin_mode("BTCUSDC", "CROSS", vault_address="0x")
fills: pd.DataFrame = session.info.fills(side="BUY", start="2026-01-01", exact=True)
session.info.klines("BTCUSDC", "1h", start=0, end=1)
price: str = session.ticket("BTCUSDC").price
book = session.stream.order_book("BTCUSDC", depth=5).frame()
toolkit.orders.buy("BTCUSDC", 1)
toolkit.widgets.OrderTicket
if session.venue is not None:
    session.venue.control.set_oracle("BTCUSDC", "60000")


async def main(session: Session) -> None:
    sent: Receipt = await session.aio.exchange.cancel_all("BTCUSDC")
    rows: pd.DataFrame = await session.aio.info.positions(symbol=1)
    await session.aio.stream.order_book("BTCUSDC", depth=5).wait()
    await session.aio.exchange.cancel_all("BTCUSDC", nonsense=True)  # call-arg
    session.aio.stream.nonsense("BTCUSDC")  # attr-defined
    session.aio.klines("BTCUSDC", intervall="1h").close()  # call-arg
    bought = await session.aio.buy("BTCUSDC", "0.01")
    await bought.wait("filled")
    await (await bought.cancel()).refresh()
    session.buy("BTCUSDC", "0.01").wait().cancel().refresh()


asyncio.run(main(session))
session.exchange.plaace_order(1, nonsense=3)  # attr-defined
session.exchange.place_order(1)  # arg-type
session.exchange.place_order([], nonsense=3)  # call-arg
session.exchange.set_leverage("BTCUSDC")  # call-arg
session.exchange.set_leverage("BTCUSDC", 1.5)  # arg-type
session.exchange.set_margin_mode("BTCUSDC", "cross")  # arg-type
session.info.fills(side="BYU")  # arg-type
session.info.fills("BTCUSDC")  # call-arg
session.info.tradez()  # attr-defined
session.stream.order_book(1)  # arg-type
session.stream.nonsense()  # attr-defined
session.buy()  # call-arg
session.buy("BTCUSDC", [])  # arg-type
session.buy("BTCUSDC", "0.01", price=1, tif="POSTONLY")  # arg-type
session.fetch_balance()  # attr-defined
toolkit.Builder(session).place(1, "0.0002")  # arg-type
toolkit.conect()  # attr-defined
late: Receipt = session.aio.buy("BTCUSDC", "0.01")  # assignment
'''


@pytest.mark.parametrize("path", methods.texts(), ids=lambda path: path.stem)
def test_the_methods_of_info_and_exchange_are_those_of_the_declarations(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == methods.texts()[path], "write them with: python -m tests.methods"


def signature_of(function: Any) -> tuple[list[tuple[str, str]], str | None]:
    """Return names with annotations, and the return type, normalised; keyword-only names begin with a star."""
    signature = inspect.signature(function)
    found = [
        (
            "*" * (p.kind is p.KEYWORD_ONLY) + name,
            "" if p.annotation is p.empty or name == "self" else normal(p.annotation),
        )
        for name, p in signature.parameters.items()
    ]
    returned = signature.return_annotation
    return found, None if returned is signature.empty else normal(returned)


def normal(annotation: str) -> str:
    return ast.unparse(ast.parse(annotation))


def test_methods_of_a_session_say_at_run_time_what_a_call_of_them_returns() -> None:
    for name in ("buy", "cancel", "klines", "twap", "product"):
        plain, awaited = getattr(toolkit.Session, name), getattr(toolkit.AsyncSession, name)
        returned = signature_of(plain)[1]
        assert returned is not None
        assert not returned.startswith("Flow")
        assert signature_of(awaited) == (signature_of(plain)[0], returned.replace("Receipt", "AsyncReceipt"))
        assert inspect.iscoroutinefunction(awaited)
        assert not inspect.iscoroutinefunction(plain)


@pytest.mark.parametrize("name", LIVE_NAMES)
def test_the_asynchronous_stream_has_the_methods_of_the_stream(name: str) -> None:
    plain, awaited = getattr(Stream, name), getattr(AsyncStream, name)
    parameters, returned = signature_of(plain)
    assert signature_of(awaited) == (parameters, f"AsyncLive[{returned}]")
    assert awaited.__doc__.partition("\n\n")[0] == plain.__doc__.partition("\n\n")[0]


@pytest.mark.timeout(300)
@pytest.mark.slow
@pytest.mark.slow
def test_mypy_passes_what_is_right_and_refuses_what_is_not(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-error-summary", str(program)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=280)
    found = {int(line): code for line, code in re.findall(r"program\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout)}
    lines = enumerate(PROGRAM.splitlines(), 1)
    expected = {number: line.partition("  # ")[2] for number, line in lines if "  # " in line}
    assert found == expected, done.stdout + done.stderr


def test_an_editable_install_is_a_path_file_which_static_tools_follow(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["editable"])
    with zipfile.ZipFile(built) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".pth")]
        assert Path(archive.read(name).decode().strip()) == ROOT


def completions(code: str) -> set[str]:
    """Return what Jedi offers at the end of code that stands after a connect()."""
    script = jedi.Script(f"import toolkit\ns = toolkit.connect()\n{code}", project=jedi.Project(ROOT))
    return {found.name_with_symbols for found in script.complete()}


@pytest.mark.parametrize(
    ("code", "offered"),
    [
        ("s.info.", {"fills", "positions", "klines", "order_states"}),
        ("s.stream.", {"order_book", "trades", "ticker", "close"}),
        ("s.", {"buy", "sell", "klines", "positions", "exchange", "info", "stream", "venue", "ticket", "aio"}),
        ("s.exchange.place_order([], ", {"expiry_after=", "vault_address="}),
        ("s.info.fills(", {"side=", "start=", "end=", "exact=", "index="}),
        ("s.buy('BTCUSDC', 1, ", {"price=", "tif=", "tp="}),
        ("(await s.aio.buy('BTCUSDC', 1)).", {"order_id", "results"}),
        ("s.stream.order_book('BTCUSDC').", {"bids", "asks", "frame", "wait"}),
        ("s.venue.control.set_o", {"set_oracle"}),
        # jedi reads all of pandas for it
        pytest.param("s.klines('BTCUSDC').", {"groupby", "resample"}, marks=pytest.mark.slow),
    ],
)
def test_editors_complete_names_and_arguments(code: str, offered: set[str]) -> None:
    assert offered <= completions(code)


@pytest.mark.parametrize("holder", ["s", "s.aio"])
def test_editors_show_the_signature_of_a_call_as_its_callers_see_it(holder: str) -> None:
    code = f"import toolkit\ns = toolkit.connect()\n{holder}.exchange.set_leverage('BTCUSDC', "
    (signature,) = jedi.Script(code, project=jedi.Project(ROOT)).get_signatures()
    parameters = "symbol: str | int, leverage: str | int | Decimal, *, vault_address: str | None=None"
    assert signature.to_string() == f"set_leverage({parameters})"
    assert signature.index == 1


@pytest.fixture
def shell() -> Iterator[Any]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    yield made
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


def test_help_and_the_question_mark_show_signature_and_docstring(shell: Any) -> None:
    with toolkit.connect(clock="manual") as session:
        for method in (session.exchange.set_leverage, session.info.fills, session.buy, session.stream.order_book):
            assert method.__doc__
            parameters = list(inspect.signature(method).parameters)
            shown = pydoc.plain(pydoc.render_doc(method))
            asked = shell.inspector.info(method, oname=method.__name__)
            for text in (shown, asked["definition"]):
                assert re.search(rf"{method.__name__}\(.*{'.*'.join(parameters)}.*\) -> ", text, re.DOTALL)
            first_line = method.__doc__.partition("\n")[0]
            assert first_line in shown
            assert first_line in asked["docstring"]


@pytest.mark.parametrize(
    ("code", "offered"),
    [
        ("s.exchange.pl", {"place_order", "place_bracket_order"}),
        ("s.info.f", {"fills", "funding_rates"}),
        ("s.exchange.set_margin_mode('BTCUSDC', mar", {"margin_mode="}),
    ],
)
def test_a_notebook_completes_live_objects(shell: Any, code: str, offered: set[str]) -> None:
    with toolkit.connect(clock="manual") as session:
        shell.push({"s": session})
        with provisionalcompleter():
            found = {made.text.rpartition(".")[2] for made in shell.Completer.completions(code, len(code))}
    assert offered <= found
