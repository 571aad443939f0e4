"""What a coalition may be after, and how much a plan pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.venue.coalition import moves
from tests.venue.coalition.moves import KINDS, Plan
from tests.venue.coalition.world import BTC, ETH, OTHERS, XRP, World, other
from toolkit.venue.model.constants import USDC
from toolkit.venue.risk import ledger

TENSION = 0.001
"""What a USDC that one account of the coalition lost to another counts in climbing: enough to tell plans apart."""

GAP = 100.0
"""What a book without orders of one side counts in climbing; one whose best price is 1 % away counts a hundredth."""


@dataclass(frozen=True)
class Goal:
    """A goal: where it is played, with which kinds of steps, and its rule.

    `judge(count, plan)` returns (score to climb by, what it paid); what an honest plan can reach is at most 0.
    """

    name: str
    rule: Callable[[int, Plan], tuple[float, float]]
    kinds: dict[str, float]
    counts: tuple[int, ...] = (2, 2, 3, 4, 6, 10, 18, 20)
    """Numbers of accounts."""

    def judge(self, count: int, plan: Plan) -> tuple[float, float]:
        """Return what a plan scores and what it pays."""
        return self.rule(count, plan)


def _weights(*without: str, **more: float) -> dict[str, float]:
    return {name: more.get(name, weight) for name, (weight, _, _) in KINDS.items() if name not in without}


def money(kind: str, *, frozen: bool = True, **settings: int) -> Callable[[int, Plan], tuple[float, float]]:
    """Return the rule "what the coalition made while no price changed", in USDC.

    In climbing, what the others lost counts whatever it cost; moving money among themselves and emptying books a
    little.
    """

    def rule(count: int, plan: Plan) -> tuple[float, float]:
        world = World(kind, count, **settings)
        world.frozen = frozen
        best, score = 0.0, 0.0
        for step in plan:
            moves.do(world, step)
            now = world.wealth()
            made = (now.coalition - world.first.coalition) / USDC
            honest = max(0, world.first.participants - now.participants) / USDC
            tension = sum(abs(world.equity(member) / USDC - 10_000) for member in world.members)
            hints = TENSION * tension + GAP * world.gap()
            best, score = max(best, made - honest), max(score, world.loss(now) / USDC + hints)
        return score - 0.01 * len(plan), best

    return rule


def unprotected(count: int, plan: Plan) -> tuple[float, float]:
    """Count the exits "of the whole position" that ended while a part of the position was left, in parts of it."""
    world = World("empty", count)
    worst = hint = 0.0
    whole: set[int] = set()
    for step in plan:
        live = [order for each in world.members for order in world.account(each).orders.values()]
        whole |= {order.id for order in live if order.waiting and not order.quantity}
        exits = [order for order in live if order.id in whole and world.sizes(order.address).get(order.product)]
        hint = max([hint, *(1 + order.triggered - order.leaves / (order.quantity or 1) for order in exits)])
        seen = len(world.core.state.history.orders.records)
        moves.do(world, step)
        for order in world.core.state.history.orders.records[seen:]:
            if order.filled and order.id in whole and step[0] != "cancel":
                held = world.account(order.address).positions[order.product]
                left = held.long.size if order.side < 0 else held.short.size
                worst = max(worst, left / (left + order.filled))
    return 10 * worst + hint, worst


def capital(count: int, plan: Plan) -> tuple[float, float]:
    """Return what an account that has no part in it lost of its capital in a jump, in USDC.

    Its capital is what it had before, or after its own positions have lost by the jump. Its gains may be taken. The LP
    vault is small, so that it is soon full.
    """
    world = World("empty", count, lp_capital=10_000 * USDC)
    quiet = [other(name) for name in ("saver", "hodler", "guarded")]
    worst = score = 0.0
    for step in plan:
        if step[0] != "jump":
            moves.do(world, step)
            continue
        before = {each: (world.equity(each) - world.funding(each), world.sizes(each)) for each in quiet}
        prices = {code: world.fair(code) for code in world.core.products}
        seen = len(world.core.state.history.liquidations.records)
        moves.do(world, step)
        world.advance(200_000)
        steps = world.core.state.history.liquidations.records[seen:]
        taken = {step.counterpart for step in steps if step.where == "ADL"}
        for address, (had, sizes) in before.items():
            score += 100.0 * (address in taken)
            if address not in taken:
                continue
            units = world.core.risk_index.tables
            own = sum(size * (world.fair(code) - prices[code]) * units[code].unit for code, size in sizes.items())
            lost = (min(had, had + own) - world.equity(address) + world.funding(address)) / USDC
            worst, score = max(worst, lost), score + max(0.0, lost)
    return score + 0.1 * min(len(world.core.state.history.liquidations.records), 50), worst


def gap(count: int, plan: Plan) -> tuple[float, float]:
    """Return what jumps brought the coalition beyond what its joint position gained and the LP vault lost, in USDC.

    It is for searches by hand, no promise: other winners pay by auto-deleveraging, in order of score, as the rules say.
    """
    world = World("empty", count, funding_cap=0, lp_capital=10_000 * USDC)
    for code in (BTC, ETH, XRP):  # nobody's orders stay behind a price that jumps
        world.act(other("guarded"), "cancelAll", symbolCode=code, conditionalOrder=True)
        world.act(other("maker"), "cancelAll", symbolCode=code)
    best = score = 0.0
    luck, units = 0, world.core.risk_index.tables
    for step in plan:
        if step[0] != "jump":
            moves.do(world, step)
            continue
        code, price, lp = step[2], world.fair(step[2]), world.equity(ledger.LP_VAULT)
        joint = sum(world.sizes(address).get(code, 0) for address in (*world.members, ledger.LP_VAULT))
        moves.do(world, step)
        world.advance(200_000)
        market = world.core.state.markets[code]
        if abs(market.mark / market.oracle - 1) > 0.001:  # orders of an empty book hold the mark where it was
            break
        luck += joint * (world.fair(code) - price) * units[code].unit - world.equity(ledger.LP_VAULT) + lp
        made = (world.gain() - luck) / USDC
        best, score = max(best, made), max(score, made)
    return score + min(50, len(world.core.state.history.liquidations.records)), best


def denial(count: int, plan: Plan) -> tuple[float, float]:
    """Return how many of the others can't make a vault any more, which all of them could."""
    world = World("empty", count)
    for step in plan:
        moves.do(world, step)
    owners = [vault.owner for vault in world.core.state.vaults.values()]
    crowded = max(owners.count(other(name)) for name in OTHERS)
    refused = sum(
        world.act(other(name), "vaultCreate", name="v", description="", amount="100", currencyCode=1).code != 0
        for name in OTHERS
    )
    return refused + 0.1 * crowded + 0.01 * len(world.led), float(refused)


def pull(count: int, plan: Plan) -> tuple[float, float]:
    """Return how far trades among the coalition moved an index, in parts of 1e-4, against a venue where it is idle."""
    world, idle = World("usual", count), World("usual", count)
    world.frozen = idle.frozen = False
    for each in (world, idle):  # with an order of somebody else in it, a book is simulated order by order
        for code in (BTC, ETH, XRP):
            each.order(other("maker"), "BUY", *moves.far_bid(each, code), code)
    worst = 0.0
    for step in plan:
        moves.do(world, step)
        idle.advance(world.now - idle.now)
        for code in world.core.products:
            if sum(world.sizes(member).get(code, 0) for member in world.members):
                return -1.0, worst
            ours, theirs = world.core.state.markets[code].oracle, idle.core.state.markets[code].oracle
            worst = max(worst, abs(ours / theirs - 1) * 10_000)
    traded = sum(market.trades for market in world.core.state.markets.values())
    return worst + 0.01 * min(traded, 50), worst


def timing(count: int, plan: Plan) -> tuple[float, float]:
    """Return what deposits and withdrawals by a rule make of another's vault, in per cent of it.

    The vault holds a position of ten times its worth. The rule may see what is public at its moment. What it pays is
    the mean of several markets less twice its error, so that luck with one of them does not count.
    """
    paid = [_timed(seed, plan) for seed in MARKETS]
    mean = sum(paid) / len(paid)
    error = (sum((each - mean) ** 2 for each in paid) / (len(paid) - 1) / len(paid)) ** 0.5
    return mean, mean - 2 * error


MARKETS = range(6)


def _timed(seed: int, plan: Plan) -> float:
    """Return what the rules of a plan took from the vault on one market, in per cent."""
    world = World("usual", 2, seed=seed)
    world.frozen = False
    first = world.leveraged_vault()
    for step in plan:
        moves.do(world, step)
    return 100 * world.gain() / first


MARKET_KINDS = {
    "sweep": 12, "all leverage": 6, "order": 12, "meet": 12, "exit": 6, "cross": 12, "leverage": 1, "margin mode": 2,
    "trigger": 2, "cancel": 2, "bracket": 1, "replace": 1, "assign": 1, "deposit": 1, "redeem": 1, "withdraw": 1,
    "wait": 2,
}  # fmt: skip
"""Many accounts of a venue with participants: mostly orders."""

EXIT_KINDS = {
    "bracket": 10, "trigger": 8, "cross": 12, "order": 8, "meet": 12, "position mode": 1, "margin mode": 1,
    "replace": 1,
}  # fmt: skip
CAPITAL_KINDS = {
    "cross": 12,
    "all leverage": 3,
    "jump": 6,
    "order": 4,
    "meet": 4,
    "exit": 4,
    "margin mode": 1,
    "leverage": 1,
}

GOALS = {
    goal.name: goal
    for goal in (
        Goal("money", money("empty", funding_cap=0), _weights("jump", "timed", "brief")),
        Goal("settling", money("empty", settle_delay=1_000, funding_cap=0), _weights("jump", "timed", "brief")),
        # By hand: accounts own the mark of a book without participants; jumps are paid for in the order of the rules.
        Goal("pushed", money("empty", frozen=False), _weights("jump", "timed", "brief")),
        Goal("gap", gap, CAPITAL_KINDS, (2, 3, 4, 6)),
        Goal("market", money("usual", funding_cap=0), MARKET_KINDS, (14, 18, 20)),
        Goal("unprotected", unprotected, EXIT_KINDS, (2, 3, 4)),
        Goal("capital", capital, CAPITAL_KINDS, (3, 4, 6)),
        Goal("denial", denial, {"vault create": 4, "hand over": 4, "sub-vault": 1, "vault close": 1, "wait": 1}),
        Goal("pull", pull, {"cross": 4, "order": 4, "meet": 4, "all leverage": 1, "brief": 6}),
        Goal("timing", timing, {"timed": 1}),
    )
}
