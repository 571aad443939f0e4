"""`Market`: every number of the simulated market, as one value that can be varied and is saved with the venue.

The state of such a market (index, makers and takers of each product) is defined below it.

Units are in the names: ppm are millionths, a "log" is a natural logarithm in millionths, values are in USDC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ...errors import InputError
from ...numerals import shown

REGIMES = ("calm", "usual", "stressed")
"""Names of the markets that are ready to use."""
THIN = "thin"
"""Name of a market without arbitrageurs, for lessons about manipulation: one order may hold a price in it."""


class ProductFlow(msgspec.Struct, frozen=True):
    """How one product moves and trades in a usual market."""

    daily_volatility_ppm: int = 40_000
    """Standard deviation of a day's return."""
    common_ppm: int = 800_000
    """Correlation of its index with the one factor that all products share."""
    orders_a_minute_ppm: int = 2_200_000
    """Clusters of taker orders per minute beyond the first one, in millionths. A cluster has two orders on average."""
    order_value_usdc: int = 550
    """Median value of a taker order."""


class Maker(msgspec.Struct, frozen=True):
    """A simulated market maker: how fast it sees news, and the ladder of `levels` that it quotes on each side.

    Attributes
    ----------
    levels : int
        Number of levels on each side.
    """

    latency_ms: int
    """Time from news or a trade to its new quotes."""
    pull_ms: int
    """Time after which it has cancelled the quotes that news or a trade made stale, at most `latency_ms`."""
    half_spread_ppm: int
    """Distance of its best quote from its fair price in a market of usual heat."""
    gap_ppm: int
    """Distance between levels."""
    levels: int
    level_value_usdc: int
    """Value of the best level. Each further one is larger by a third of it."""
    refill_ms: int
    """Time after which it has replaced the taken steps."""


class Scales(msgspec.Struct, frozen=True):
    """The factors of a regime, in millionths of the number that they scale.

    Attributes
    ----------
    volatility : int
        Scales `daily_volatility_ppm` (default: 1,000,000).
    flow : int
        Scales `orders_a_minute_ppm` (default: 1,000,000).
    jumps : int
        Scales how often jumps come (default: 1,000,000).
    spread : int
        Scales `half_spread_ppm` (default: 1,000,000).
    depth : int
        Scales `level_value_usdc` (default: 1,000,000).
    premium : int
        Scales `premium_ppm` (default: 1,000,000).
    """

    volatility: int = 1_000_000
    flow: int = 1_000_000
    jumps: int = 1_000_000
    spread: int = 1_000_000
    depth: int = 1_000_000
    premium: int = 1_000_000


SCALES = {
    "calm": Scales(500_000, 600_000, 250_000, 800_000, 1_300_000, 700_000),
    "usual": Scales(),
    "stressed": Scales(2_300_000, 1_800_000, 4_000_000, 1_700_000, 450_000, 3_000_000),
    THIN: Scales(depth=300_000),
}


class Market(msgspec.Struct, frozen=True):
    """Every number of the simulated market.

    `Market.named("stressed")` is one that is ready. `vary` changes some. `venue.control.market(regime)` changes the
    regime while the venue runs.

    Attributes
    ----------
    regime : str
        "calm", "usual" or "stressed". It scales volatility, flow, jumps, spread, depth and premium (default: "usual").
        In "thin" there are no arbitrageurs, so one order may hold a price.
    products : dict of str to ProductFlow
        Numbers of single products by symbol. The others have those of `ProductFlow()`.
    """

    regime: str = "usual"
    seed: int = 0
    """Varies the market of one venue seed: prices, flow, and history."""
    products: dict[str, ProductFlow] = msgspec.field(
        default_factory=lambda: {
            "BTCUSDC": ProductFlow(24_000, 970_000, 3_200_000, 800),
            "ETHUSDC": ProductFlow(32_000, 940_000, 2_700_000, 700),
            "SOLUSDC": ProductFlow(42_000, 880_000),
            "XRPUSDC": ProductFlow(40_000, 820_000),
        }
    )
    clustering: tuple[tuple[int, int], ...] = (
        (4, 100_000),
        (15, 90_000),
        (60, 90_000),
        (240, 170_000),
        (960, 130_000),
        (4_320, 40_000),
    )
    """Components of volatility: (minutes that each value lasts, variance of its log in millionths)."""
    jump_minutes: int = 600
    """Mean time between jumps that all products share. Each product's own are as frequent."""
    jump_ppm: int = 3_400
    """Typical size of a jump of a product with 2.4 % volatility a day."""
    makers: tuple[Maker, ...] = (
        Maker(90, 20, 105, 130, 1, 55_000, 700),
        Maker(140, 30, 140, 130, 6, 7_000, 3_000),
        Maker(220, 50, 240, 400, 6, 12_000, 9_000),
        Maker(400, 80, 3_600, 4_000, 5, 400_000, 60_000),
    )
    """The makers of each product."""
    inventory_usdc: int = 1_000_000
    """Common inventory for which they shift their quotes by `skew_ppm`."""
    skew_ppm: int = 60
    """How far the makers shift their quotes against their inventory."""
    informed_ppm: int = 250_000
    """Part of the larger news on which informed takers trade before the makers have seen it."""
    momentum_ppm: int = 90_000
    """Part of the taker orders that follow the trend."""
    hedging_ppm: int = 80_000
    """Part of the taker orders that lower the makers' inventory."""
    forced_ppm: int = 60_000
    """Part of the taker orders that may be forced."""
    permanent_ppm: int = 32
    """How far a surprising order of 1,000 USDC moves the index permanently. It grows with the value's square root."""
    transient_ppm: int = 16
    """How far it also moves the makers' prices, for a while."""
    recovery_ticks: int = 40
    """Ticks of 3 s in which a transient move falls to a third."""
    premium_ppm: int = 620
    """Standard deviation of the perpetual's premium over its index, which comes and goes over hours."""
    arbitrage_usdc: int = 2_000_000
    """Capital of the arbitrageurs in each product. 0 = there are none, and one order may hold a price."""
    arbitrage_minutes: int = 5
    """Minutes in which their capital refills."""
    arbitrage_fee_ppm: int = 300
    """Cost of their trade. They take orders further from fair than this and half of the spread."""
    external_perpetual: bool = False
    """Whether the mark price also uses the mid of a simulated perpetual elsewhere."""

    @classmethod
    def named(cls, name: str) -> Market:
        """Return the market of a regime.

        Parameters
        ----------
        name : {"calm", "usual", "stressed", "thin"}
            Name of the regime. In "thin", which is for lessons about manipulation, one order may hold a price.

        Returns
        -------
        Market
            The numbers of the regime. `vary` changes some of them.

        Raises
        ------
        InputError
            For another name.

        Examples
        --------
        >>> Market.named("stressed").regime
        'stressed'
        """
        if not isinstance(name, str) or name not in SCALES:
            known = f"{', '.join(SCALES)}, a Market, and None for no market"
            reason = f"market {shown(name)} is not known. There are {known}"
            raise InputError(reason, field="market", rule="known", value=name, nearest=tuple(SCALES))
        return cls(regime=name)

    def vary(self, **changes: object) -> Market:
        """Return a market with some numbers changed.

        Parameters
        ----------
        **changes : object
            New values by the name of the field, in the field's unit.

        Returns
        -------
        Market
            The changed market. This one stays as it is.

        Raises
        ------
        InputError
            For a name that it does not have, or a value that it can't have.

        Examples
        --------
        >>> Market.named("calm").vary(jump_minutes=60).jump_minutes
        60
        """
        unknown = sorted(changes.keys() - set(self.__struct_fields__))
        if unknown:
            reason = f"a Market has no {', '.join(unknown)}. It has {', '.join(self.__struct_fields__)}"
            raise InputError(reason, field=unknown[0], rule="known", value=unknown)
        changed = market_of(msgspec.structs.replace(self, **changes))
        assert changed is not None
        return changed

    @staticmethod
    def scales(regime: str) -> Scales:
        """Return the factors of a regime.

        Parameters
        ----------
        regime : str
            Name of the regime.

        Returns
        -------
        Scales
            Factors in millionths.
        """
        return SCALES[regime]

    def depth_within(self, reach_ppm: int) -> int:
        """Return the usual value of one side of the makers' ladders up to a distance from the fair price.

        Parameters
        ----------
        reach_ppm : int
            Distance in millionths.

        Returns
        -------
        int
            Value in whole USDC.
        """
        return sum(
            maker.level_value_usdc * (3 + level) // 3
            for maker in self.makers
            for level in range(maker.levels)
            if maker.half_spread_ppm + level * maker.gap_ppm <= reach_ppm
        )

    def flow(self, symbol: str) -> ProductFlow:
        """Return the numbers of the product `symbol`.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        ProductFlow
            Its own numbers, or the default ones for a symbol that `products` does not name.
        """
        return self.products.get(symbol, ProductFlow())


def market_of(setting: object) -> Market | None:
    """Return the market of a venue's setting.

    Parameters
    ----------
    setting : str, Market, dict, bool or None
        Name of a regime, a Market, or its fields as a dict. True is "usual". `None` and False are no market.

    Returns
    -------
    Market or None
        The checked market, `None` for no market.

    Raises
    ------
    InputError
        For anything else, and for a number outside of its bounds.
    """
    if setting is None or setting is False:
        return None
    if setting is True:
        return Market()
    if isinstance(setting, str):
        return Market.named(setting)
    if isinstance(setting, Market):
        setting = msgspec.to_builtins(setting)
    try:
        market = msgspec.convert(setting, Market)
    except msgspec.ValidationError as error:
        raise InputError(f"this is no Market: {error}", field="market", rule="type", value=setting) from None
    _check(market)
    return market


def saved(setting: object) -> dict[str, Any] | None:
    """Return the market of a setting as the plain values that are saved with a venue.

    Parameters
    ----------
    setting : str, Market, dict, bool or None
        Setting, see `market_of`.

    Returns
    -------
    dict or None
        Fields by name, `None` for no market.
    """
    market = market_of(setting)
    return None if market is None else msgspec.to_builtins(market)


def _check(market: Market) -> None:
    """Raise InputError for numbers with which no market can run."""
    Market.named(market.regime)
    flows = market.products.values()
    rules = {
        "makers": 1 <= len(market.makers) <= 8
        and all(
            0 < maker.pull_ms <= maker.latency_ms <= 60_000 and maker.levels > 0 and maker.level_value_usdc > 0
            and maker.half_spread_ppm > 0 and maker.gap_ppm > 0 and maker.refill_ms > 0
            for maker in market.makers
        ),
        "clustering": all(minutes > 0 and 0 <= log <= 500_000 for minutes, log in market.clustering),
        "products": all(
            0 < flow.daily_volatility_ppm <= 500_000 and 0 <= flow.common_ppm <= 1_000_000
            and 0 <= flow.orders_a_minute_ppm <= 20_000_000 and flow.order_value_usdc > 0
            for flow in flows
        ),
        "jump_minutes": market.jump_minutes > 0,
        "jump_ppm": 0 <= market.jump_ppm <= 50_000,
        "inventory_usdc": market.inventory_usdc > 0,
        "recovery_ticks": market.recovery_ticks > 0,
        "arbitrage_usdc": 0 <= market.arbitrage_usdc <= 500_000_000,
        "arbitrage_minutes": 0 < market.arbitrage_minutes <= 1_440,
        "arbitrage_fee_ppm": 0 <= market.arbitrage_fee_ppm <= 10_000,
        "premium_ppm": 0 <= market.premium_ppm <= 10_000,
        "permanent_ppm": 0 <= market.permanent_ppm <= 2_000,
        "transient_ppm": 0 <= market.transient_ppm <= 2_000,
        "informed_ppm": 0 <= market.informed_ppm <= 1_000_000,
        "momentum_ppm": market.momentum_ppm >= 0 and market.hedging_ppm >= 0 and market.forced_ppm >= 0
        and market.momentum_ppm + market.hedging_ppm + market.forced_ppm <= 1_000_000,
    }  # fmt: skip
    for name, holds in rules.items():
        if not holds:
            value = getattr(market, name)
            message = f"Market.{name} {shown(value)} is outside of its bounds"
            raise InputError(message, field=name, rule="bounds", value=value)


@dataclass(slots=True)
class MakerState:
    """One maker in one product.

    Quantities in steps. Made by the venue.

    Attributes
    ----------
    bids_until : int
        When it refills the taken bids next, Unix ms (default: 0).
    taken_asks : int
        Steps taken of its asks since it last refilled them, best first (default: 0).
    asks_until : int
        When it refills the taken asks next, Unix ms (default: 0).
    """

    taken_bids: int = 0
    """Steps taken of its bids since it last refilled them, best first, and when it refills them next (ms)."""
    bids_until: int = 0
    taken_asks: int = 0
    asks_until: int = 0
    inventory: int = 0
    """Its position, trades that are not booked yet included."""


@dataclass(slots=True)
class SimulatedProduct:
    """One simulated product.

    Made by the venue. A fine price is in 1 / 2**16 ticks, changes are in parts of 1e-9.

    Attributes
    ----------
    regime : str
        Name of the present regime (default: "usual").
    drift : int
        Slower mean of the index over about 15 minutes, fine (default: 0).
    makers : list of MakerState
        Its makers, in the order of `Market.makers`.
    """

    start: int
    """Index price at genesis in ticks, for the past before it."""
    index: int
    """Index price, fine."""
    time: int
    """News up to and including this time (ms) are in the index."""
    traded: int
    """Orders up to and including this time have come."""
    ticked: int
    """Its last oracle price, in ticks. An oracle price that differs has another source."""
    seen: int = 0
    """Public trades whose impact is in the index."""
    regime: str = "usual"
    plan: list[tuple[int, str]] = field(default_factory=list)
    """Regimes that begin later: (time, name), in order."""
    heat: int = 0
    """Mean size of the latest news."""
    pressure: int = 0
    """Distance of the makers' prices from index and premium after trades. It fades."""
    basis: int = 0
    """Premium over the index that comes from outside."""
    surprise: int = 0
    """Mean of the participants' latest sides, millionths: the expected part of the next one."""
    flow: int = 0
    """Recent purchases less sales of others from the participants, in thousandths of USDC. It fades."""
    hedged: int = 0
    """Steps of the makers' inventory that they have from others than the participants, and hedge elsewhere."""
    trend: int = 0
    """Slower means of the index, fine: over about 2 and 15 minutes."""
    drift: int = 0
    views: list[tuple[int, int]] = field(default_factory=list)
    """Latest changes of the fair price: (time, fine price from then on), oldest first."""
    skew: int = 0
    """How far the makers shift their quotes against their inventory."""
    makers: list[MakerState] = field(default_factory=list)
    pending: dict[str, list[int]] = field(default_factory=dict)
    """Participant → steps bought and micro-USDC paid, less sold and received, that its position does not have yet."""
    booked: int = 0
    """When pending trades were last booked."""
    hunt: int = 0
    """When the arbitrageurs take the users' orders that are mispriced, 0 = there are none."""
    spent: int = 0
    """Value of their trades that they have not hedged elsewhere yet, micro-USDC, and when it was computed."""
    spent_at: int = 0
    fronts: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Order of another account with makers ahead of it → price in ticks (negative: an ask), steps ahead of it."""


class Simulation(msgspec.Struct):
    """The simulated market of one venue.

    Attributes
    ----------
    market : Market
        Its numbers.
    products : dict of int to SimulatedProduct
        State of each product by code.
    """

    market: Market
    products: dict[int, SimulatedProduct] = {}
