"""Oracle, mark and last price of every product, every 3 s (rules: `margin.mark_price`). Prices are in ticks.

The oracle price comes from `core.price_source`, which the simulated market or a replay sets. Without one, or
while it is held by hand, it stays. The book's median price counts only while the book has both sides, so that an old
last price can't hold up the mark of an empty book [L]. The published median is computed first. The mark is the
nearest price within `Config.mark_band` of the oracle price [L].
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError
from ...products import Product
from ..engine import arguments
from ..engine import changes as ev
from ..engine.commands import Refused, TxCode
from ..engine.core import Core
from ..engine.registry import controls, process
from ..model.constants import RATE
from ..model.genesis import Genesis
from ..model.state import MarketState

ORACLE_HOOKS: list[Callable[[Core, int], None]] = []
"""Rules called as rule(core, product) after an oracle price was set by hand, before the mark follows it."""


def begin(core: Core, genesis: Genesis) -> None:
    """Schedule the first prices, premium samples and equity samples at the next multiples of their intervals.

    Parameters
    ----------
    core : Core
        New state machine, whose processes are scheduled.
    genesis : Genesis
        How the venue begins.
    """
    every, samples_every = core.state.config.price_interval, core.state.config.sample_interval
    for name, interval in (("prices", every), ("funding", every), ("samples", samples_every)):
        core.wake(name, (genesis.time // interval + 1) * interval)


@process("prices")
def tick(core: Core, time: int) -> int:
    """Take new oracle prices, sample the books, and set the marks.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the tick, Unix ms.
    """
    source, top = core.price_source, core.books.sampled
    for code, market in core.state.markets.items():
        if source is not None:
            oracle, external = source(core, code, time)
            market.external = external
            if oracle > 0 and not market.pinned:
                set_oracle_price(market, oracle)
        sample(market, *top(code))
        follow_samples(core, market)
        core.emit(ev.PriceTick(code, time, market.oracle, market.mark))
    return time + core.state.config.price_interval


def sample(market: MarketState, bid: int, ask: int) -> None:
    """Sample the best prices of a book for the mark.

    Parameters
    ----------
    market : MarketState
        Market of the product.
    bid : int
        Best bid in ticks, 0 = an empty side.
    ask : int
        Best ask in ticks, 0 = an empty side.
    """
    market.basis.append(bid + ask - 2 * market.oracle if bid and ask else None)
    # An old last price must not hold up the mark of an empty book, so a sample needs both sides.
    market.book.append(_middle(bid, ask, market.last) or None)


def follow_samples(core: Core, market: MarketState) -> None:
    """Set the mark of the instant of the latest sample, and drop the samples that are too old.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    market : MarketState
        Market whose samples end with that of the present instant.
    """
    middle, config = market.book[-1] or 0, core.state.config
    for samples, limit in ((market.basis, config.basis_samples), (market.book, config.book_samples)):
        del samples[: max(len(samples) - limit, 0)]
    set_mark(core, market, _in_band(core, market, _mark(market, middle)))


def set_mark(core: Core, market: MarketState, mark: int) -> None:
    """Set the mark.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    market : MarketState
        Market of the product.
    mark : int
        Price in ticks. 0, which is no price, leaves the mark as it is.
    """
    if mark and mark != market.mark:
        # The liquidation check needs the mark of its last look, so an older one is not overwritten.
        core.risk_index.moved.setdefault(market.product, market.mark)
        market.mark = mark


def band_ticks(core: Core, market: MarketState) -> int:
    """Return how far the mark may be from the oracle in ticks. -1 means any distance.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    market : MarketState
        Market of the product.
    """
    rate = core.state.config.mark_band * core.risk_index.tables[market.product].gentlest // RATE
    return market.oracle * rate // RATE if rate and market.oracle else -1


def _in_band(core: Core, market: MarketState, median: int) -> int:
    """Return the mark of a median: the nearest price of the band. `market.beyond` keeps a median outside of it."""
    # A book alone, which anyone may push, must not liquidate an account at the usual leverage.
    width, mark = band_ticks(core, market), median
    if median and width >= 0:
        mark = min(max(median, market.oracle - width), market.oracle + width)
    market.beyond = median if mark != median else 0
    return mark


def mark_price(market: MarketState, bid: int, ask: int) -> int:
    """Return the mark by the published formula in whole ticks, 0 without any price.

    Halves are rounded up.

    Parameters
    ----------
    market : MarketState
        Market of the product.
    bid : int
        Best bid in ticks, 0 = an empty side.
    ask : int
        Best ask in ticks, 0 = an empty side.
    """
    return _mark(market, _middle(bid, ask, market.last))


def _mark(market: MarketState, middle: int) -> int:
    """Return the mark where the median of best bid, best ask and last price is `middle`, 0 = an empty side."""
    found: list[int] = []  # in half ticks, so that means of two prices stay whole numbers
    oracle, external = market.oracle, market.external
    if oracle:
        found.append(2 * oracle + _mean(market.basis))
    if middle:
        found.append(2 * middle)
    if external:
        found.append(2 * external)
    if len(found) == 2:  # a median needs a third price: the average of the book's medians joins
        book = _mean(market.book, 2)
        if book:
            found.append(book)
    if not found:
        return 0
    found.sort()
    # of an odd number of prices both are the one in the middle
    median = (found[(len(found) - 1) // 2] + found[len(found) // 2]) // 2
    return max(1, (median + 1) // 2)


def _mean(samples: list[int | None], parts: int = 1) -> int:
    """Return the mean of the samples that are there, in `parts` of their unit, rounded down, 0 when none is."""
    try:
        return parts * sum(samples) // len(samples) if samples else 0  # type: ignore[arg-type]
    except TypeError:  # some are missing, which is rare: they are not looked for first
        return _mean([sample for sample in samples if sample is not None], parts)


def set_oracle_price(market: MarketState, price_ticks: int) -> None:
    """Set the oracle price.

    Before the first trade the last price follows it instead of staying at that of genesis.

    Parameters
    ----------
    market : MarketState
        Market of the product.
    price_ticks : int
        Price in ticks.
    """
    market.oracle = price_ticks
    if not market.trades:
        market.last = price_ticks


def _middle(bid: int, ask: int, last: int) -> int:
    """Return the median of best bid, best ask and last price, 0 where a side of the book is empty."""
    if not bid or not ask:
        return 0
    if not last:
        return (bid + ask) // 2
    inner = last if last < ask else ask
    return inner if inner > bid else bid


@controls("set_oracle")
def set_oracle(core: Core, product: int, price: str, hold: bool = True) -> dict[str, str]:
    """Set the oracle price of a product immediately.

    The simulated market and the mark follow.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    price : str
        Decimal text in USDC, a multiple of the product's tick.
    hold : bool, optional
        True keeps the price until `release_oracle`. Otherwise its source sets it again at the next tick (default:
        `True`).

    Returns
    -------
    dict of str to str
        `oracle` and `mark` after it, in USDC.

    Raises
    ------
    Refused
        If the product can't have this price.
    """
    listed = core.product(product)
    price_ticks = oracle_ticks(listed, price)
    market = core.state.markets[product]
    market.pinned = hold
    set_oracle_price(market, price_ticks)
    for rule in ORACLE_HOOKS:
        rule(core, product)
    set_mark(core, market, _in_band(core, market, mark_price(market, *core.books.sampled(product))))
    core.emit(ev.PriceTick(product, core.state.time, market.oracle, market.mark))
    return {"oracle": listed.price_text(market.oracle), "mark": listed.price_text(market.mark)}


def oracle_ticks(product: Product, price: object) -> int:
    """Return an oracle price in ticks.

    Parameters
    ----------
    product : Product
        Product of the price.
    price : object
        Decimal text in USDC.

    Raises
    ------
    Refused
        If the product can't have this price.
    """
    try:
        price_ticks = product.ticks(arguments.positive(price, "price"))
    except InputError as error:
        raise Refused(TxCode.BAD_PRICE, f"oracle {error}") from None
    check_bound(product, "oracle price", price_ticks)
    return price_ticks


def check_bound(product: Product, what: str, price_ticks: int) -> None:
    """Refuse a price above the highest price of an order.

    Parameters
    ----------
    product : Product
        Product of the price.
    what : str
        Name of the price, for the refusal.
    price_ticks : int
        Price in ticks.

    Raises
    ------
    Refused
        If it is above.
    """
    if price_ticks > product.max_price:
        given, most = product.price_text(price_ticks), product.price_text(product.max_price)
        raise Refused(TxCode.BAD_PRICE, f"{what} {given} is above {most}, the highest price of an order")


@controls("release_oracle")
def release_oracle(core: Core, product: int) -> None:
    """Let the oracle price of a product follow its source again.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    product : int
        Code of the product.
    """
    core.product(product)
    core.state.markets[product].pinned = False
