"""`toolkit quickstart`: the first trade, from faucet to closed position, on a venue inside this process.

Everything it prints comes from the same calls a program would make. With the same seed it prints the same, to the last
transaction hash: the clock is manual and the keys come from the seed.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingPackage
from ..extras import need
from . import aligned, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from ..client.orders.receipts import Receipt
    from ..session import Session
    from ..wallet import Wallet

START = "2026-01-01T03:30:00Z"
"""Half an hour before a funding settlement, so that one falls into the hour the position is held."""
HELD_MINUTES = 60
SAMPLE_MINUTES = 2
SYMBOL = "BTCUSDC"
DEFAULT_SEED = 7


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    add = parser.add_argument
    add("--seed", type=int, default=DEFAULT_SEED, help="seed of the market and the keys (default 7)")
    add("--plot", type=Path, default=Path("quickstart-equity.png"), metavar="FILE", help="where to write the figure")
    add("--no-plot", action="store_true", help="write no figure")


def run(args: argparse.Namespace) -> int:
    """Run the first trade and print it.

    Return 0, or 1 when the figure can't be written.

    Parameters
    ----------
    args : Namespace
        Parsed arguments of the command.
    """
    from ..session import connect
    from ..venue.local import LocalVenue

    wallet = throwaway_wallet(args.seed)
    with (
        LocalVenue(seed=args.seed, clock="manual", start=START, accounts=0) as venue,
        connect(venue=venue, wallet=wallet, approve=False) as session,
    ):
        _introduce(args.seed, wallet)
        _fund_and_approve(session)
        _look_around(session)
        _order_that_waits(session)
        equity = _trade(session)
        _account(session, equity)
    return 0 if args.no_plot else _draw(equity, args.plot)


def throwaway_wallet(seed: int) -> Wallet:
    """Return a wallet whose keys follow from a seed.

    They are not secret: for this demonstration only.

    Parameters
    ----------
    seed : int
        Seed of the market and the keys.
    """
    from ..wallet import Wallet

    def key(role: str) -> bytes:
        return hashlib.sha256(f"toolkit quickstart, seed {seed}, {role}".encode()).digest()

    return Wallet(agent=key("agent"), master=key("master"))


def _introduce(seed: int, wallet: Wallet) -> None:
    _say(
        f"Your first trade, on an exchange inside this process (seed {seed}). Nothing leaves this machine, and "
        "the money is not real. Each step shows the call that makes it."
    )
    _step(1, "Two keys", "session = toolkit.connect(wallet=toolkit.Wallet.from_env())")
    print(f"   master {wallet.master}  holds the money\n   agent  {wallet.agent}  trades, can't withdraw")


def _fund_and_approve(session: Session) -> None:
    _step(2, "Claim test funds", "session.exchange.faucet_claim()")
    _receipt(session.exchange.faucet_claim())
    _table(session.wallet_balances(), ["currency", "balance", "available", "equity"])
    _step(3, "Let the agent trade for the account", "session.exchange.approve_agent(validity_seconds=86400)")
    _receipt(session.exchange.approve_agent(validity_seconds=86400))
    _table(session.info.agents(), ["name", "agent", "status"])


def _look_around(session: Session) -> None:
    _step(4, "The listed products", "session.products()")
    products = session.products().reset_index()
    columns = ["symbol", "tick_size", "step_size", "min_order_value", "max_leverage", "taker_fee_rate"]
    _table(products, columns)
    _step(5, f"The last minutes of {SYMBOL}", f'session.klines("{SYMBOL}", "1m", limit=5)')
    _table(session.klines(SYMBOL, "1m", limit=5).reset_index(), ["time", "open", "high", "low", "close", "volume"])


def _order_that_waits(session: Session) -> None:
    product = session.product(SYMBOL)
    last = session.klines(SYMBOL, "1m", limit=5, exact=True)["close"].iloc[-1]
    price = product.round_price(last * 99 / 100, "down")
    call = f'session.buy("{SYMBOL}", "0.002", price="{price}", tif="POST_ONLY")'
    _step(6, "An order that waits, 1 % below the market", call)
    resting = session.buy(SYMBOL, "0.002", price=price, tif="POST_ONLY")
    _receipt(resting)
    _table(session.orders(open=True), ["order_id", "symbol", "side", "type", "price", "quantity", "status"])
    print()
    _say("No trader has sold at that price yet. session.cancel(receipt) cancels it:")
    _receipt(session.cancel(resting))


def _trade(session: Session) -> pd.Series[Any]:
    """Open, hold and close a position. Return the equity by time."""
    assert session.venue is not None
    call = f'session.buy("{SYMBOL}", "0.02")'
    _step(7, "Buy at market", call)
    equity = {session.clock.now_ms(): _equity(session)}
    _receipt(session.buy(SYMBOL, "0.02"))
    _table(session.fills(), ["time", "symbol", "side", "price", "quantity", "value", "fee"])
    _step(8, "An hour later", 'session.venue.advance("1h"); session.positions()')
    for _ in range(HELD_MINUTES // SAMPLE_MINUTES):
        now = session.venue.advance(f"{SAMPLE_MINUTES}m")
        equity[now] = _equity(session)
    _table(
        session.positions(index=None),
        ["symbol", "side", "size", "entry_price", "mark_price", "unrealized_pnl", "margin"],
    )
    _step(9, "Close it", f'session.close_position("{SYMBOL}")')
    _receipt(session.close_position(SYMBOL))
    _table(session.fills(), ["time", "symbol", "side", "price", "quantity", "fee", "realized_pnl"])
    equity[session.venue.advance("1s")] = _equity(session)
    return _series(equity)


def _account(session: Session, equity: pd.Series[Any]) -> None:
    _step(10, "Where the money went", "session.info.ledger(); session.wallet_balances()")
    ledger = session.info.ledger()
    sums = ledger.groupby("kind", sort=False, observed=True)["amount"].sum().reset_index()
    _table(sums, ["kind", "amount"])
    _table(session.wallet_balances(), ["currency", "balance", "available", "equity"])
    change = equity.iloc[-1] - equity.iloc[0]
    print()
    _say(f"The trade {'made' if change >= 0 else 'lost'} {abs(change):.2f} USDC, fees and funding included.")


def _draw(equity: pd.Series[Any], path: Path) -> int:
    try:
        need("matplotlib")
    except MissingPackage as error:
        _say(f"The equity is not drawn: {error}")
        return 0
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    from .. import plots

    plots.equity(equity, title="Equity of the first trade (USDC)")
    try:
        pyplot.savefig(path)
    except OSError as error:
        _say(f"The figure could not be written to {path}: {error.strerror}.")
        return 1
    finally:
        pyplot.close("all")
    _say(f"The equity over that hour is drawn in {path}.")
    _say("Next: python -m toolkit lab opens the walkthroughs, python -m toolkit doctor looks at your set-up.")
    return 0


def _equity(session: Session) -> float:
    return float(session.wallet_balances()["equity"].iloc[0])


def _series(values: Mapping[int, float]) -> pd.Series[Any]:
    import pandas as pd

    times = pd.to_datetime(list(values), unit="ms", utc=True)
    return pd.Series(list(values.values()), index=pd.DatetimeIndex(times, name="time"), name="equity")


def _step(number: int, title: str, call: str) -> None:
    print(f"\n{number}. {title}\n   >>> {call}", flush=True)


def _say(text: str) -> None:
    wrapped(text, margin=3)


def _receipt(receipt: Receipt) -> None:
    names = [f"order {result.order_id}" for result in receipt.results if result.order_id]
    said = [f"{receipt.action} {receipt.state.lower()}", *names, f"transaction {receipt.tx_hash[:18]}…"]
    print(f"   {', '.join(said)}")


def _table(frame: pd.DataFrame, columns: list[str]) -> None:
    """Print columns of a frame: text to the left, numbers to the right, times without what is always the same."""
    cells = [_cells(frame[name]) for name in columns]
    numeric = [frame[name].dtype.kind in "fiu" for name in columns]
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(map(len, [head, *column])) for head, column in zip(heads, cells, strict=True)]
    rows = [heads, ["-" * width for width in widths], *zip(*cells, strict=True)]
    print()
    for line in aligned(rows, numeric):
        print(f"   {line}")


def _cells(column: pd.Series[Any]) -> list[str]:
    """Return a column as text. Numbers have as many decimals as the longest needs, six at most."""
    import pandas as pd

    if column.dtype.kind == "f":
        places = max((len(f"{value:.6f}".rstrip("0").split(".")[1]) for value in column.dropna()), default=0)
        return ["" if pd.isna(value) else f"{value:,.{places}f}" for value in column]
    if column.dtype.kind == "M":
        column = column.dt.strftime("%Y-%m-%d %H:%M")
    return ["" if pd.isna(value) else str(value) for value in column]
