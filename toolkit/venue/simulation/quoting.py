"""The makers of the simulated market. Their quotes at an instant are computed only when they are read or traded.

Each maker sees the fair price with its own latency, shifts it against its inventory, and quotes a ladder on each side,
wider while news are large. A folded book has no maker orders: best prices and levels are computed, and merged with the
orders of all others, which rest in a separate ladder. The makers' orders are only made when the book itself is read. An
unfolded book holds them as ordinary orders of the makers' accounts, each at its place among those of others. `Quotes`
takes them back before time continues, and notes what was traded of them.

A place is kept as the makers' steps ahead of an order at its price. These are all steps that they showed when it came,
less those traded there since, and never more than they still show. Steps that they add later are behind it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from heapq import heappop, heapreplace, merge

from ..engine import changes as ev
from ..engine.core import Core
from ..model.accounts import VenueOrder
from ..model.book import Book
from ..model.constants import GTC, LIMIT, MINUTE_MS
from ..model.market import THIN, Maker, MakerState, Simulation
from ..trading import lifecycle
from . import order_flow
from .order_flow import PARTS, FlowBlock, Order
from .quoted import FINE, FINE_BITS, FLOW_TICKS, PPM, WIDTHS, Quoted, around, seen_between, taken_of

MAKERS = tuple(f"0x00000000000000000000000000000000000000a{number}" for number in range(1, 9))
"""Accounts of the makers, the fastest one first."""
_HEAT_SHIFT = 3
_MOST_HEAT = 8 * PPM
_FELT = 200_000
"""The makers follow a premium that has changed by more than this part of the price."""
_TREND_TICKS, _DRIFT_TICKS = 40, 300

Level = tuple[int, int, int]
"""Price in ticks, steps, number of the maker."""


class Quotes:
    """The makers' quotes of every simulated product of a core, and the news they follow.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    simulation : Simulation
        The simulated market, part of the core's state.
    """

    def __init__(self, core: Core, simulation: Simulation) -> None:
        self.core = core
        self.simulation = simulation
        self.makers: tuple[Maker, ...] = simulation.market.makers
        self.products = {code: Quoted(core, simulation, code) for code in simulation.products}
        self._closest = min(range(len(self.makers)), key=lambda number: self.makers[number].half_spread_ppm)
        halves = [maker.half_spread_ppm for maker in self.makers]
        self.closest_ppm = closest_ppm = halves.pop(self._closest)
        # how much further away all others quote, and what roundings may cost of it; the first of equal quotes counts
        # While all makers see prices that are nearer than this, the closest one has both best quotes, and the others
        # need not be computed.
        self._lead_ppm = (min(halves) - closest_ppm) * PPM // (PPM + min(halves) * 16) if halves else 0
        self._slack = 8 if not self._closest else FINE + 8
        self._recovery_ticks = simulation.market.recovery_ticks
        self._slowest_ms = max(maker.latency_ms for maker in self.makers)
        self._slowest_first = [
            (number, maker.latency_ms, maker.pull_ms, maker.half_spread_ppm) for number, maker in enumerate(self.makers)
        ][::-1]

    # news

    def place(self, quoted: Quoted, time: int) -> FlowBlock:
        """Return the block of news that holds a time.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        number = time // order_flow.BLOCK_MS
        if quoted.block is None or quoted.number != number:
            quoted.block = block = order_flow.block(quoted.source, quoted.scales, number)
            quoted.number = number
            quoted.at = bisect_right(block.news_times, quoted.sim.time)
        return quoted.block

    def find_order(self, quoted: Quoted) -> None:
        """Look up when the next order comes.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        number = (quoted.sim.traded + 1) // order_flow.BLOCK_MS
        while True:
            block = order_flow.block(quoted.source, quoted.scales, number)
            at = bisect_right(block.order_times, quoted.sim.traded)
            if at < len(block.orders):
                break
            number += 1
        quoted.order_block, quoted.order_at, quoted.next_time = block, at, block.order_times[at]

    def following_order(self, quoted: Quoted) -> Order:
        """Return the next order.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        assert quoted.order_block is not None
        return quoted.order_block.orders[quoted.order_at]

    def pass_order(self, quoted: Quoted) -> Order:
        """Return the next order, and continue to the one after it.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        block, at = quoted.order_block, quoted.order_at
        assert block is not None
        quoted.sim.traded = block.order_times[at]
        quoted.order_at = at + 1
        if at + 1 < len(block.orders):
            quoted.next_time = block.order_times[at + 1]
        else:
            self.find_order(quoted)
        return block.orders[at]

    def hear(self, quoted: Quoted, time: int) -> None:
        """Move the index by the news up to and including a time.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            The time, Unix ms.
        """
        sim = quoted.sim
        # Most calls find no news. They only note the time.
        if time < quoted.next_news:
            if sim.time < time:
                sim.time = time
            return
        while sim.time < time:
            block = self.place(quoted, sim.time + 1)
            following = (quoted.number + 1) * order_flow.BLOCK_MS
            times, at = block.news_times, quoted.at
            last = len(times)
            while at < last and times[at] <= time:
                moved, index = block.news[at], sim.index
                sim.index = index = max(index + index * moved // PARTS, FINE)
                # Heat is a mean of the sizes of news. It fades with news and not with time, so that no clock has to be
                # read.
                sim.heat += (abs(moved) - sim.heat) >> _HEAT_SHIFT
                self._see(quoted, times[at], index + index * (sim.pressure + sim.basis) // PARTS)
                at += 1
            quoted.at = at
            # News may lie in the next block. The loop continues there.
            sim.time = min(time, following - 1)
            quoted.next_news = times[at] if at < last else following

    def _see(self, quoted: Quoted, time: int, fair: int) -> None:
        """Note the fair price, fine, from a time on. The makers see it after their latencies."""
        quoted.quotes = quoted.top = None
        views = quoted.sim.views
        views.append((time, fair))
        # Old views are dropped seldom: the list is short, and one before the slowest maker's latency must remain.
        if len(views) > 12:
            slowest = time - self._slowest_ms
            while len(views) > 1 and views[1][0] <= slowest:
                del views[0]

    def jump(self, quoted: Quoted, time: int, price_ticks: int) -> None:
        """Move the index to a price, as one piece of news.

        The makers see it after their latencies, and quote wider.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        price_ticks : int
            New index price in ticks.
        """
        self.hear(quoted, time)
        sim, index = quoted.sim, price_ticks * FINE
        sim.heat += (abs(index - sim.index) * PARTS // sim.index - sim.heat) >> _HEAT_SHIFT
        # Both together: an oracle price that differs from `ticked` would count as held by hand.
        sim.index, sim.ticked = index, price_ticks
        quoted.thin_out()
        self._see(quoted, time, index + index * (sim.pressure + sim.basis) // PARTS)

    def tick(self, quoted: Quoted, time: int) -> int:
        """Let 3 s pass.

        Return the index in whole ticks.

        Trends follow, pressure fades, and the premium changes.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Instant of the tick, Unix ms.
        """
        sim = quoted.sim
        if time < quoted.next_news:
            sim.time = time
        else:
            self.hear(quoted, time)
        index = sim.index
        sim.trend += (index - sim.trend) // _TREND_TICKS
        sim.drift += (index - sim.drift) // _DRIFT_TICKS
        sim.pressure = pressure = sim.pressure - sim.pressure // self._recovery_ticks
        sim.flow -= sim.flow // FLOW_TICKS
        minute = time // MINUTE_MS
        if minute != quoted.minute:
            block, quoted.minute = self.place(quoted, time), minute
            sim.basis = block.premiums[minute % order_flow.BLOCK_MINUTES] * 1000
        before, fair = sim.views[-1][1], index + index * (pressure + sim.basis) // PARTS
        # Smaller changes of the premium would make new quotes at every tick for nothing.
        if abs(fair - before) * _FELT > before:
            self._see(quoted, time, fair)
        sim.ticked = index = index >> FINE_BITS
        quoted.thin_out()
        return index

    def has_arbitrage(self, quoted: Quoted) -> bool:
        """Return whether a product has arbitrageurs.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        return self.simulation.market.arbitrage_usdc > 0 and quoted.sim.regime != THIN

    def left_alone(self, quoted: Quoted, time: int) -> tuple[int, int]:
        """Return the lowest and highest fine price at which arbitrageurs do not take an order.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Present time, Unix ms.
        """
        self.hear(quoted, time)
        fair = self.fixed_fair(quoted) or quoted.sim.views[-1][1]
        width = self.closest_ppm * self.width(quoted) + self.simulation.market.arbitrage_fee_ppm * PPM
        away = fair * width // WIDTHS
        return fair - away, fair + away

    def external(self, quoted: Quoted) -> int:
        """Return the mid of the external perpetual in ticks, 0 if the market has none.

        It follows the index and has the premium, but not the trades of this venue.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        sim = quoted.sim
        return (sim.index + sim.index * sim.basis // PARTS) // FINE if self.simulation.market.external_perpetual else 0

    def impress(self, quoted: Quoted, time: int, side: int, value_micro: int, *, own: bool) -> None:
        """Move index and makers' prices by what was taken.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        side : int
            Side of the takers: +1 buys, −1 sells.
        value_micro : int
            Traded value in micro-USDC.
        own : bool
            True for an order of a participant.
        """
        sim = quoted.sim
        (quoted.impress if own else quoted.impress_others)(self.simulation.market, side, value_micro)
        self._see(quoted, time, sim.index + sim.index * (sim.pressure + sim.basis) // PARTS)

    # quotes

    def quote(self, quoted: Quoted, time: int) -> tuple[list[int], list[int]]:
        """Return the best bids and asks of all makers at a time, in ticks.

        None crosses another.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        kept = quoted.quotes
        if kept is not None and kept[0] == time:
            return kept[1], kept[2]
        sim, views = quoted.sim, quoted.sim.views
        if sim.time < time:
            self.hear(quoted, time)
        width, fixed = self.width(quoted), self.fixed_fair(quoted)
        low = high = fixed
        bids, asks = quoted.bids, quoted.asks
        highest, lowest = 0, 1 << 62
        # From the slowest to the fastest. A fast maker knows the stale quotes of the slower ones, and avoids them.
        for number, latency, pull, half_ppm in self._slowest_first:
            if not fixed:
                # Between `pull_ms` and `latency_ms` a maker has cancelled what news made stale, and not quoted again:
                # its bid follows the lowest price of that time, its ask the highest.
                low, high = seen_between(views, time - latency, time - pull)
            bid, ask = around(low, high, sim.skew, half_ppm * width)
            # a maker never takes: it stays behind the stale quotes of a slower one
            if bid >= lowest:
                bid = max(lowest - 1, 1)
            if ask <= highest:
                ask = highest + 1
            bids[number], asks[number] = bid, ask
            if bid > highest:
                highest = bid
            if ask < lowest:
                lowest = ask
        quoted.quotes = (time, bids, asks)
        return bids, asks

    def width(self, quoted: Quoted) -> int:
        """Return how wide the makers quote, in millionths of the usual.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        heat, width = quoted.width
        if heat != quoted.sim.heat:
            heat = quoted.sim.heat
            width = (200_000 + min(heat * PPM // quoted.usual_heat, _MOST_HEAT) * 8 // 10) * quoted.scales.spread // PPM
            quoted.width = heat, width
        return width

    def fixed_fair(self, quoted: Quoted) -> int:
        """Return the oracle price, fine, where it does not follow the simulated index, else 0.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        market = quoted.market
        return market.oracle * FINE if market.pinned or market.oracle != quoted.sim.ticked else 0

    def _queue(self, quoted: Quoted, side: int, time: int) -> int:
        """Return which part of its usual size a maker's best level has, in parts of 1024."""
        number, within = divmod(time, order_flow.BLOCK_MS)
        block = quoted.block
        if block is None or quoted.number != number:
            block = self.place(quoted, time)
        at = within // order_flow.QUEUE_MS + 1
        if time < block.queue_times[at]:
            at -= 1
        return (block.bid_queues if side > 0 else block.ask_queues)[at] * quoted.share >> 10

    def _steps(self, quoted: Quoted, number: int, level: int, price: int, share: int) -> int:
        """Return the size of a level: larger further away, and a little different at each price."""
        # A size that depends on the price and not on time stays where it is while the market moves around it.
        value = quoted.values[number][level] * (75 + (price * 40_503 >> 4) % 51) // 100
        steps: int = value * share // (price * quoted.unit << 10)
        if steps > quoted.most_steps:
            return quoted.most_steps
        return steps or 1

    def side(self, quoted: Quoted, side: int, time: int, *, whole: bool = False) -> Iterator[Level]:
        """Yield the levels of a side, best first, of equal prices the faster maker's first.

        `whole` is as if nothing had been taken of them.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        side : int
            +1 for bids, −1 for asks.
        time : int
            Time of the quotes, Unix ms.
        whole : bool, optional
            True yields them as if nothing had been taken (default: `False`).
        """
        bests, bound = self.quote(quoted, time)[side < 0], quoted.users.side(-side).best
        queue = self._queue(quoted, side, time)
        first = -side * (bound - side) if bound else -1 << 62  # a maker never takes: it stays behind what rests there
        # What was taken is taken from the best levels first, wherever they are now.
        taken = [0 if whole else taken_of(maker, side, time) for maker in quoted.sim.makers]
        ladders = [(max(-side * best, first), number, 0, best) for number, best in enumerate(bests)]
        ladders.sort()
        while ladders:
            rank, number, level, price = ladders[0]
            steps = self._steps(quoted, number, level, price, quoted.share if level else queue)
            # A rank of 0 would be a price of 0.
            if taken[number] < steps and rank:
                yield -side * rank, steps - taken[number], number
            taken[number] = max(taken[number] - steps, 0)
            maker, level = self.makers[number], level + 1
            # further levels lie on a grid, so that most of them stay where they are when the price moves a little
            gap = bests[number] * maker.gap_ppm // PPM or 1
            price = (price - 1) // gap * gap if side > 0 else (price // gap + 1) * gap
            if level < maker.levels and price > 0:
                heapreplace(ladders, (max(-side * price, first), number, level, price))
            else:
                heappop(ladders)

    def best(self, quoted: Quoted, side: int, time: int) -> Level:
        """Return the best level of a side, or (0, 0, 0).

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        side : int
            +1 for bids, −1 for asks.
        time : int
            Time of the quotes, Unix ms.
        """
        _, best, simple = self._top(quoted, time)
        price = best[side < 0]
        if simple:
            steps = self._steps(quoted, self._closest, 0, price, self._queue(quoted, side, time))
            return price, steps, self._closest
        return next(self.side(quoted, side, time), (0, 0, 0))

    def _top(self, quoted: Quoted, time: int) -> tuple[int, tuple[int, int], bool]:
        """Return the time, the best bid and ask, and whether both are the closest maker's, of which nothing was taken.

        That is so while all makers see about the same price. This is much cheaper to know than all makers' quotes.
        """
        kept = quoted.top
        if kept is not None and kept[0] == time:
            return kept
        sim = quoted.sim
        if sim.time < time:
            self.hear(quoted, time)
        first = sim.makers[self._closest]
        simple = time >= first.bids_until and time >= first.asks_until
        if simple:
            heat, width = quoted.width
            if heat != sim.heat:
                width = self.width(quoted)
            fair = self.fixed_fair(quoted)
            if not fair:
                views = sim.views
                when, fair = views[-1]
                if when > time - self._slowest_ms and len(views) > 1:
                    low, high = seen_between(views, time - self._slowest_ms, time)
                    # The news of the last moments may be small enough for the closest maker to keep the lead.
                    simple = low == high or high - low + self._slack <= fair * self._lead_ppm * width // WIDTHS
                    if simple:
                        first_maker = self.makers[self._closest]
                        low, high = seen_between(views, time - first_maker.latency_ms, time - first_maker.pull_ms)
                        best = around(low, high, sim.skew, self.closest_ppm * width)
                        quoted.top = kept = (time, best, simple)
                        return kept
        if simple:
            best = around(fair, fair, sim.skew, self.closest_ppm * width)
        else:
            bids, asks = self.quote(quoted, time)
            bid = self._best_price(quoted, 1, max(bids), bids, time)
            best = bid, self._best_price(quoted, -1, min(asks), asks, time)
        quoted.top = kept = (time, best, simple)
        return kept

    def _best_price(self, quoted: Quoted, side: int, price: int, bests: list[int], time: int) -> int:
        """Return the best price of a side of which the makers' best are these, unless what is at it was taken."""
        number = bests.index(price)
        taken = taken_of(quoted.sim.makers[number], side, time)
        if not taken or taken < self._steps(quoted, number, 0, price, self._queue(quoted, side, time)):
            return price
        return next(self.side(quoted, side, time), (0,))[0]

    def best_prices(self, quoted: Quoted, time: int) -> tuple[int, int]:
        """Return the makers' best bid and ask of a product at a time in ticks, 0 where there is none.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        kept = quoted.top
        return kept[1] if kept is not None and kept[0] == time else self._top(quoted, time)[1]

    def prices(self, quoted: Quoted, time: int) -> tuple[int, int]:
        """Return the best bid and ask of a folded book at a time, of makers and others, in ticks, 0 for none.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        bid, ask = self.best_prices(quoted, time)
        if (users_bid := quoted.users.bids.best) | (users_ask := quoted.users.asks.best):
            # A user's bid at a maker's ask has made the maker move away, as a maker never takes.
            if ask and users_bid >= ask:
                ask = users_bid + 1
            if bid and 0 < users_ask <= bid:
                bid = users_ask - 1
            bid, ask = max(bid, users_bid), min(ask or users_ask, users_ask or ask)
        return bid, ask

    # the interface of `model.book.LazyBooks`

    def top(self, code: int) -> tuple[int, int]:
        """Return the best bid and ask of a product in ticks, 0 where there is none.

        Parameters
        ----------
        code : int
            Code of the product.
        """
        return self.prices(self.products[code], self.core.state.time)

    def sampled(self, code: int, bid: int, ask: int) -> tuple[int, int]:
        """Return best prices without what arbitrageurs are about to take.

        An order that is placed a moment before a sample and cancelled after it would otherwise set mark and funding.

        Parameters
        ----------
        code : int
            Code of the product.
        bid : int
            Best bid in ticks, 0 = none.
        ask : int
            Best ask in ticks, 0 = none.
        """
        quoted = self.products.get(code)
        users = quoted.users if quoted is not None else None
        if quoted is None or users is None or not (users.bids.best or users.asks.best):
            return bid, ask
        if not self.has_arbitrage(quoted):
            return bid, ask
        low, high = (price >> FINE_BITS for price in self.left_alone(quoted, self.core.state.time))
        # The makers stay behind such an order, so the other side has moved away with it.
        if bid > high:
            return high, min(ask, high + 1)
        return (max(bid, low), low + 1) if 0 < ask <= low else (bid, ask)

    def levels(self, code: int, side: int, value_micro: int) -> Iterable[tuple[int, int]]:
        """Return the levels of a side as (price, steps), best first, as many as hold a value.

        Parameters
        ----------
        code : int
            Code of the product.
        side : int
            +1 for bids, −1 for asks.
        value_micro : int
            Value in micro-USDC that the levels must hold together.
        """
        quoted, time = self.products[code], self.core.state.time
        price, steps, _ = self.best(quoted, side, time)
        same, other = quoted.users.side(side).best, quoted.users.side(-side).best
        # Premium samples ask for little, and one level of a maker mostly holds it.
        alone = (not same or (price - same) * side > 0) and (not other or (other - price) * side > 0)
        if alone and price * steps * quoted.unit >= value_micro:
            return ((price, steps),)
        if not same:
            return _summed(self.side(quoted, side, time))
        users = ((level.price, level.total, 0) for level in quoted.users.side(side))
        ladders = self.side(quoted, side, time), users
        return _summed(merge(*ladders, key=lambda level: -side * level[0]))

    def unfold(self, code: int) -> Book | None:
        """Make the orders of a folded book and return it.

        Parameters
        ----------
        code : int
            Code of the product.
        """
        quoted = self.products.get(code)
        if quoted is None:
            return None
        time, book = self.core.state.time, quoted.users
        # All levels are read before the first order is made, because the orders of one side would change the other
        # side's quotes.
        ladders = [(side, defaultdict[int, list[tuple[int, int]]](list)) for side in (1, -1)]
        for side, pieces in ladders:
            for price, steps, number in self.side(quoted, side, time):
                pieces[price].append((number, steps))
        self.core.books[code] = book
        # If the sequence is the same when the book is folded, nothing happened in it, and all places are right.
        quoted.shown, quoted.sequence = [], quoted.market.sequence
        for side, pieces in ladders:
            for price, there in pieces.items():
                self._join(quoted, side, price, there)
        return book

    def _join(self, quoted: Quoted, side: int, price: int, there: list[tuple[int, int]]) -> None:
        """Put the makers' quantities of a price, as (number, steps), among the orders of others."""
        level = quoted.users.side(side).levels.get(price)
        users = list(level.orders.values()) if level is not None else []
        if level is not None:
            level.orders.clear()
        # An order of a maker has the priority of the user's order before it, so that times within a level do not fall.
        passed, priority, fronts = 0, -1, quoted.sim.fronts
        for number, steps in there:
            while level is not None and users and (ahead := fronts.get(users[0].id, (0, 0))[1] - passed) < steps:
                if ahead > 0:
                    self._make(quoted, number, side, price, ahead, priority)
                    passed, steps = passed + ahead, steps - ahead
                user = users.pop(0)
                level.orders[user.id], priority = user, user.priority
            self._make(quoted, number, side, price, steps, priority)
            passed += steps
        for user in users:
            assert level is not None
            level.orders[user.id] = user

    def _make(self, quoted: Quoted, number: int, side: int, price: int, steps: int, priority: int) -> None:
        """Make an order of a maker, and put it behind the others of its price."""
        core, time, code = self.core, self.core.state.time, quoted.code
        order = VenueOrder(
            # Negative ids: these orders take no number of the state, so reading a book leaves no trace.
            -(code * 10_000 + len(quoted.shown) + 1), MAKERS[number], code, side, False, LIMIT, GTC, 0, price, steps,
            steps, priority=priority, created=time, updated=time, height=core.height,
        )  # fmt: skip
        quoted.shown.append(order)
        account = core.state.accounts[MAKERS[number]]
        account.orders[order.id] = order
        quoted.users.side(side).add(order)
        lifecycle.count_resting(core, account.positions[code], order, steps)

    def fold(self) -> None:
        """Take back the orders of the books that were unfolded to be read or traded with."""
        for code in [code for code in self.core.books if code in self.products]:
            self.take_back(self.products[code])

    def tell(self) -> None:
        """Notify the feed that the levels of every book may have changed."""
        for code, quoted in self.products.items():
            # The feed compares the levels itself. An event for each level of each tick would cost more than reading
            # them.
            self.core.events.append(ev.BookChange(code, 0, 0, 0, quoted.market.sequence))

    def settle(self) -> None:
        """Fold all books, and move every index by the news up to the present."""
        self.fold()
        for quoted in self.products.values():
            self.hear(quoted, self.core.state.time)

    def take_back(self, quoted: Quoted) -> None:
        """Fold a book, if it is unfolded, and keep the places of others if anything has changed in it.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        if self.core.books.pop(quoted.code, None) is None:
            return
        accounts, book = self.core.state.accounts, quoted.users
        # Orders came or traded. What is ahead of each user's order is counted again, from the makers' orders before it.
        if quoted.market.sequence != quoted.sequence:
            quoted.sim.fronts = {}
            for side, price in {(order.side, order.price): None for order in quoted.shown}:
                level, ahead = book.side(side).levels.get(price), 0
                for order in level.orders.values() if level is not None else ():
                    if order.id < 0:
                        ahead += order.leaves
                    elif ahead:
                        quoted.sim.fronts[order.id] = side * price, ahead
        # The sums of the positions were raised when the orders were made, and are lowered by what is left of them.
        for order in self.resting(quoted):
            account = accounts[order.address]
            lifecycle.count_resting(self.core, account.positions[quoted.code], order, -order.leaves)
            del account.orders[order.id]
            book.side(order.side).remove(order)
        quoted.shown = []

    def resting(self, quoted: Quoted) -> list[VenueOrder]:
        """Return the makers' orders of an unfolded book that are still there.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        """
        accounts = self.core.state.accounts
        return [order for order in quoted.shown if order.id in accounts[order.address].orders]

    def keep_places(self, quoted: Quoted, time: int) -> None:
        """Move waiting orders forward where the makers show less than was ahead of them.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        shown = Counter[int]()
        for side in (1, -1):
            for price, steps, _ in self.side(quoted, side, time):
                shown[side * price] += steps
        # A maker that cancels leaves fewer steps ahead. One that adds quotes behind.
        places = ((name, price, min(ahead, shown[price])) for name, (price, ahead) in quoted.sim.fronts.items())
        quoted.sim.fronts = {name: (price, ahead) for name, price, ahead in places if ahead}

    def next_change(self, quoted: Quoted, time: int) -> int:
        """Return when the makers' quotes may next change, Unix ms.

        They change by news, late views, refills or a tick.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        self.hear(quoted, time)
        block = self.place(quoted, time)
        at = (time - quoted.number * order_flow.BLOCK_MS) // order_flow.QUEUE_MS + 1
        found = min(quoted.next_news, self.core.state.schedule.get("prices", quoted.next_news))
        found = min([found, *(each for each in block.queue_times[at : at + 2] if each > time)])
        for maker, state in zip(self.makers, quoted.sim.makers, strict=True):
            # A maker changes its quotes when it cancels and when it quotes again, for each piece of news.
            later = [when + wait for when, _ in quoted.sim.views for wait in (maker.pull_ms, maker.latency_ms)]
            found = min([found, *(each for each in (*later, state.bids_until, state.asks_until) if each > time)])
        return max(found, time + 1)  # the prices of this instant may be set after this

    def note_taken(self, quoted: Quoted, time: int) -> None:
        """Note what was traded of the makers' orders in an unfolded book.

        Parameters
        ----------
        quoted : Quoted
            Quotes and flow of one product.
        time : int
            Time of the quotes, Unix ms.
        """
        left: dict[tuple[str, int], int] = {}
        for order in self.resting(quoted):
            key = (order.address, order.side)
            left[key] = left.get(key, 0) + order.leaves
        for number, (maker, state) in enumerate(zip(self.makers, quoted.sim.makers, strict=True)):
            for side in (1, -1):
                ladder = self.side(quoted, side, time, whole=True)
                # What is missing of a maker's whole ladder was traded now or before. What was taken before is known.
                whole = sum(steps for _, steps, of in ladder if of == number)
                taken = whole - left.get((MAKERS[number], side), 0) - taken_of(state, side, time)
                if taken > 0:
                    self.take(state, side, taken, time, maker)

    def take(self, state: MakerState, side: int, steps: int, time: int, maker: Maker) -> None:
        """Record that more of a maker's side was taken.

        Parameters
        ----------
        state : MakerState
            State of the maker.
        side : int
            +1 for bids, −1 for asks.
        steps : int
            Steps that were taken.
        time : int
            Time of the quotes, Unix ms.
        maker : Maker
            Numbers of the maker. It refills the side after its `refill_ms`.
        """
        taken = taken_of(state, side, time) + steps
        if side > 0:
            state.taken_bids, state.bids_until = taken, time + maker.refill_ms
        else:
            state.taken_asks, state.asks_until = taken, time + maker.refill_ms


def index_source(core: Core, code: int, time: int) -> tuple[int, int]:
    """Return the next index price of a product in ticks, and the mid of an external perpetual, 0 if there is none.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    code : int
        Code of the product.
    time : int
        Instant of the tick, Unix ms.
    """
    quotes = core.books.lazy
    quoted = quotes.products.get(code) if isinstance(quotes, Quotes) else None
    if quoted is None or not isinstance(quotes, Quotes):
        return 0, 0
    return quotes.tick(quoted, time), quotes.external(quoted)


def _summed(levels: Iterable[Level]) -> Iterator[tuple[int, int]]:
    """Yield the levels with those of one price as one, best first."""
    last = total = 0
    for price, steps, _ in levels:
        if price != last:
            if total:
                yield last, total
            last, total = price, 0
        total += steps
    if total:
        yield last, total
