"""The core of the venue: a deterministic state machine. Commands go in, an outcome and events come out.

No I/O, no clock, no randomness of its own: time comes with the commands, chance from the seed. A single writer calls
`Core.apply`. Rules register themselves by name (`handles`, `controls`, `process`, `post_command`) and are loaded by
`wiring`, which also fixes their order.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec

from ...errors import InputError
from ...products import Product
from ..model.book import Book
from ..model.genesis import Genesis
from ..model.risk_index import RiskIndex
from ..model.state import Block, MarketState, NonceWindow, State, Transaction, Unsettled, VenueAccount
from ..model.triggers import Triggers
from . import events as ev
from .arguments import check_types

NONCES_KEPT = 1_000
"""Largest used nonces kept per signer (venue-facts, "Request details")."""

NONCE, EXPIRED, UNSUPPORTED, SIGNATURE, REFUSED = 40207, 40208, 40201, 40204, 40230
NO_VAULT = 6001
"""txCode of a vaultAddress that is no vault."""
BAD_ARGUMENT = 7001
"""txCode of a control with an argument that is wrong."""
UNSIGNED_NONCE = frozenset({"faucetClaim"})
"""Actions whose nonce is not part of what is signed: it only counts as used when the action succeeded, so that nobody
can use up another's nonces by repeating such a request."""


class Submit(msgspec.Struct, frozen=True, tag="submit"):
    """A signed action whose signer has been recovered. `nonce`, `expiry_after` and `vault` are as in the envelope."""

    time: int
    action: dict[str, Any]
    signer: str
    nonce: int
    expiry_after: int | None = None
    vault: str | None = None
    digest: bytes = b""
    """What was signed; makes the transaction hash."""


class Advance(msgspec.Struct, frozen=True, tag="advance"):
    """Let time pass: everything due up to and including `time` happens, in order."""

    time: int


class Control(msgspec.Struct, frozen=True, tag="control"):
    """An intervention from outside the wire (tests, teaching, market replay): CONTROLS[name](core, **args)."""

    time: int
    name: str
    args: dict[str, Any] = {}


Command = Submit | Advance | Control


class Outcome(msgspec.Struct, frozen=True):
    """The answer to a command, in the shape of ExchangeResponse. `status` is the HTTP status."""

    code: int = 0
    message: str = "success"
    data: dict[str, Any] | None = None
    status: int = 200


class Refused(Exception):
    """A business rule says no: `code` becomes txCode, `reason` is in words with the numbers that matter."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class WireError(Exception):
    """The request is not executed at all: `code` of the specification's table, `message` in words."""

    def __init__(self, code: int, message: str, *, status: int = 200, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


class ActionContext:
    """Who acts, for whom, in which transaction."""

    __slots__ = ("account", "builder", "nonce", "owner", "signer", "time", "tx_hash", "vault")

    def __init__(
        self,
        account: VenueAccount,
        signer: str = "",
        nonce: int = 0,
        time: int = 0,
        tx_hash: str = "",
        vault: str | None = None,
        builder: str | None = None,
    ) -> None:
        self.account = account
        """The account that is acted for (the vault's account in a vault context)."""
        self.owner = account
        """The account whose wallet or agent signed; another one than `account` only in a vault context."""
        self.signer = signer
        self.nonce = nonce
        self.time = time
        self.tx_hash = tx_hash
        self.vault = vault
        self.builder = builder
        """Builder's master address while a builder action is executed."""


Handler = Callable[["Core", ActionContext, dict[str, Any]], "dict[str, Any] | Outcome | None"]
ControlRule = Callable[..., Any]
Process = Callable[["Core", int], "int | None"]
PostCommandHook = Callable[["Core"], "bool | None"]
Authorize = Callable[["Core", Submit], ActionContext]
Enter = Callable[["Core", ActionContext, str], None]

HANDLERS: dict[str, Handler] = {}
"""action.type → rule. It returns the answer's data (or an Outcome), or raises Refused before it changed anything."""
CONTROLS: dict[str, ControlRule] = {}
PROCESSES: dict[str, Process] = {}
"""Name → rule(core, time) that runs when due and returns when it is due next (None = until Core.wake)."""
POST_COMMAND_HOOKS: dict[str, PostCommandHook] = {}
"""Name → rule run after every command and every instant of Advance: triggers, liquidation checks. When one of them
returns True (it traded), all run again."""


def handles(action: str) -> Callable[[Handler], Handler]:
    """Register the rule for an action type."""

    def register(rule: Handler) -> Handler:
        HANDLERS[action] = rule
        return rule

    return register


def controls(name: str) -> Callable[[ControlRule], ControlRule]:
    """Register an intervention."""

    def register(rule: ControlRule) -> ControlRule:
        CONTROLS[name] = rule
        return rule

    return register


def process(name: str) -> Callable[[Process], Process]:
    """Register a process that time drives; `wiring.ORDER` fixes who goes first in the same instant."""

    def register(rule: Process) -> Process:
        PROCESSES[name] = rule
        return rule

    return register


def post_command(name: str) -> Callable[[PostCommandHook], PostCommandHook]:
    """Register a rule that runs after every command and instant, in the order of `wiring.ORDER`."""

    def register(rule: PostCommandHook) -> PostCommandHook:
        POST_COMMAND_HOOKS[name] = rule
        return rule

    return register


def authorize_owner(core: Core, submit: Submit) -> ActionContext:
    """Let every existing account sign for itself: the rule of a core without permissions."""
    account = core.state.accounts.get(submit.signer)
    if account is None:
        raise WireError(SIGNATURE, f"signer {submit.signer} has no account here")
    return ActionContext(account, submit.signer, submit.nonce, core.state.time, core.tx_hash(), submit.vault)


def no_vaults(core: Core, context: ActionContext, action: str) -> None:
    """Refuse every vault: the rule of a core without vaults."""
    raise Refused(NO_VAULT, f"there is no vault {context.vault}")


class Core:
    """The state machine. `apply` is the only way in; `state` and `history` are read by everybody.

    Attributes:
        state: everything that is remembered; see `state`.
        events: what happened since the shell last cleared it, in order.
        heard: whether anybody reads `events`; see `hear`.
        height: height of the block that is open now; the first is 1.
        step_hash: hash of the transaction or system step under way, "" until `tx_hash` was asked for it.
        products: product code → Product, made from `state.products`.
        risk_index: tables and indexes of the money rules.
        books: product code → order book, made from the accounts' resting orders.
        triggers: product code → waiting triggers, made from the accounts' waiting orders.
        authorize: who may do what; `permissions` replaces the default, which knows no agents.
        enter: puts the vault's account into the context of a request with a vaultAddress, or raises Refused.
    """

    def __init__(self, genesis: Genesis | None = None, *, state: State | None = None) -> None:
        from . import registry

        self.handlers = HANDLERS
        self.controls = CONTROLS
        self.processes = registry.ordered(PROCESSES)
        self.post_command_hooks = registry.ordered(POST_COMMAND_HOOKS)
        self.authorize: Authorize = authorize_owner
        self.enter: Enter = no_vaults
        self.events: list[ev.Event] = []
        self.recording = True
        self.emit: Callable[[ev.Event], None] = self.events.append
        self.step_hash = ""
        self._digest = b""
        fresh = state is None
        self.state = begin(genesis or Genesis()) if state is None else state
        self.height = self._height()
        self.products: dict[int, Product] = {}
        self.risk_index = RiskIndex()
        self.books: dict[int, Book] = {}
        self.triggers: dict[int, Triggers] = {}
        self.rebuild_products()
        registry.attach(self)
        if fresh:
            registry.begin(self, genesis or Genesis())

    # what everybody uses

    def account(self, address: str) -> VenueAccount:
        """Return the account of an address, opening it when it is new."""
        address = address.lower()
        found = self.state.accounts.get(address)
        if found is None:
            found = VenueAccount(address, created=self.state.time, updated=self.state.time)
            self.state.accounts[address] = found
        return found

    def product(self, code: int) -> Product:
        """Return the product of a code; Refused names the known codes when there is none."""
        found = self.products.get(code)
        if found is None:
            known = ", ".join(f"{p.code} {p.symbol}" for p in self.products.values())
            raise Refused(1001, f"symbolCode {code} is not a product; known are {known}")
        return found

    def record_events(self, recording: bool) -> None:
        """Say whether anybody reads the events; while nobody does, none are kept, and the frequent ones not made."""
        self.recording = recording
        self.emit = self.events.append if recording else _forget

    def tx_hash(self) -> str:
        """Return the hash of the transaction or system step that is under way."""
        if not self.step_hash:
            text = b"%d:%d:" % (self.state.seed, self.state.transactions) + self._digest
            self.step_hash = "0x" + hashlib.sha256(text).hexdigest()
        return self.step_hash

    def block_hash(self, height: int) -> str:
        """Return the hash of a complete block without transactions (others keep theirs in the history)."""
        return "0x" + hashlib.sha256(b"block:%d:%d" % (self.state.seed, height)).hexdigest()

    def context(self, account: VenueAccount) -> ActionContext:
        """Return a context for an action the venue itself takes for an account (market, liquidation)."""
        return ActionContext(account, "", 0, self.state.time, self.tx_hash())

    def wake(self, name: str, time: int) -> None:
        """Make a process due at `time`, or earlier if it already is."""
        due = self.state.schedule.get(name)
        if due is None or time < due:
            self.state.schedule[name] = time

    def open_step(self) -> None:
        """Begin a step outside a command; what follows has a transaction hash of its own."""
        self._open_step(b"")

    def advance(self, time: int) -> None:
        """Advance to `time` (Unix ms) outside a command, running the processes that fall due."""
        self._advance(time)

    def run_hooks(self) -> None:
        """Run the post-command hooks (triggers, liquidation) outside a command, until none changes anything."""
        self._follow()

    def rebuild_products(self) -> None:
        """Make the Product objects anew after `state.products` or `state.margin_tables` changed."""
        state = self.state
        for code, row in state.products.items():
            self.products[code] = Product.from_row(row, state.margin_tables[int(row["marginTableId"])])
        self.risk_index.rebuild_products(self.products)

    def state_hash(self) -> str:
        """Return the hash of the whole state as 64 hex digits."""
        from .codec import state_hash

        return state_hash(self)

    def dump(self) -> bytes:
        """Return the whole state as bytes; `Core.load` gives a core that goes on identically."""
        from .codec import dump

        return dump(self)

    @classmethod
    def load(cls, data: bytes) -> Core:
        """Return the core a dump was made of. Raises VenueError for bytes that are no dump of this version."""
        from .codec import load

        return load(data)

    # commands

    def apply(self, command: Command) -> Outcome:
        """Execute one command and return its outcome. Time never runs backwards: an earlier time counts as now.

        A rule that breaks half-way (a mistake of ours, or of somebody's own control) raises what it raised, after what
        it had touched was followed up, so that the state goes on the same way from a replay and from a dump.
        """
        self._advance(command.time)
        try:
            if type(command) is Submit:
                outcome = self._submit(command)
            elif type(command) is Control:
                outcome = self._control(command)
            else:
                return Outcome()
        except Exception:
            self._follow()
            raise
        self._follow()
        return outcome

    def _submit(self, submit: Submit) -> Outcome:
        action = str(submit.action.get("type", ""))
        self._open_step(submit.digest)
        try:
            if action not in self.handlers:
                raise WireError(UNSUPPORTED, f"action type {action!r} is not supported here")
            context = self.authorize(self, submit)
            self._check_nonce(submit)
            self._check_expiry(submit)
        except WireError as error:
            return Outcome(error.code, error.message, error.data, error.status)
        if action not in UNSIGNED_NONCE:
            self._use_nonce(submit)
        delay = self.state.settings.get("settleDelay", 0)
        if delay:
            return self._postpone(context, submit, delay)
        outcome = self.execute(context, submit, action)
        if action in UNSIGNED_NONCE and outcome.code == 0:
            self._use_nonce(submit)
        return outcome

    def execute(self, context: ActionContext, submit: Submit, action: str) -> Outcome:
        """Do an action whose sender may do it, and keep the record of the transaction."""
        code, message = 0, ""
        try:
            if context.vault is not None:
                self.enter(self, context, action)
            result = self.handlers[action](self, context, submit.action)
        except Refused as refusal:
            code, message = refusal.code, refusal.reason
            outcome = Outcome(REFUSED, message, {})
        except WireError as error:
            code, message = error.code, error.message
            outcome = Outcome(error.code, message, error.data, error.status)
        else:
            outcome = result if isinstance(result, Outcome) else Outcome(data=result)
            if outcome.code:
                code, message = outcome.code, outcome.message
        self._record(submit, context, action, code, message)
        data = {"txHash": self.tx_hash(), "txCode": code, "txMsg": message, **(outcome.data or {})}
        return Outcome(outcome.code, outcome.message, data, outcome.status)

    def _postpone(self, context: ActionContext, submit: Submit, delay: int) -> Outcome:
        state, tx_hash = self.state, self.tx_hash()
        due = state.time + delay
        account, builder = context.account.address, context.builder
        state.unsettled.append(
            Unsettled(due, tx_hash, submit.action, submit.signer, submit.nonce, account, submit.vault, builder)
        )
        self.wake("settle", due)
        return Outcome(data={"txHash": tx_hash, "txCode": 0, "txMsg": ""})

    def execute_unsettled(self, waiting: Unsettled) -> None:
        """Execute an action that was answered before; a refusal shows in its transaction and order events."""
        self.step_hash, now = waiting.tx_hash, self.state.time
        account = self.state.accounts[waiting.account]
        context = ActionContext(
            account, waiting.signer, waiting.nonce, now, waiting.tx_hash, waiting.vault, waiting.builder
        )
        submit = Submit(now, waiting.action, waiting.signer, waiting.nonce, vault=waiting.vault)
        self.execute(context, submit, str(waiting.action["type"]))
        self._follow()

    def _control(self, control: Control) -> Outcome:
        rule = self.controls.get(control.name)
        if rule is None:
            return Outcome(
                UNSUPPORTED, f"there is no control {control.name!r}; known: {', '.join(sorted(self.controls))}"
            )
        self._open_step(b"")
        try:
            check_types(rule, control.args)
            result = rule(self, **control.args)
        except Refused as refusal:
            return Outcome(REFUSED, refusal.reason, {"txCode": refusal.code, "txMsg": refusal.reason})
        except InputError as error:
            return Outcome(REFUSED, str(error), {"txCode": BAD_ARGUMENT, "txMsg": str(error)})
        return Outcome(data=result if isinstance(result, dict) else None)

    def _open_step(self, digest: bytes) -> None:
        self.state.transactions += 1
        self._digest = digest
        self.step_hash = ""

    def _check_nonce(self, submit: Submit) -> None:
        window = self.state.nonces.get(submit.signer)
        if window is None:
            return
        used, nonce = window.used, submit.nonce
        if not used or nonce > used[-1]:
            return
        at = bisect_left(used, nonce)
        if used[at] == nonce:
            raise WireError(NONCE, f"nonce {nonce} was used before by {submit.signer}; take one that never was")
        if at == 0 and len(used) >= NONCES_KEPT:
            raise WireError(
                NONCE,
                f"nonce {nonce} is below {used[0]}, the smallest of the {NONCES_KEPT} largest nonces that "
                f"{submit.signer} used; take the present time in milliseconds",
            )

    def _check_expiry(self, submit: Submit) -> None:
        now, expiry = self.state.time, submit.expiry_after
        if expiry and now > expiry:
            raise WireError(
                EXPIRED,
                f"request expired: expiryAfter {expiry} was {now - expiry} ms ago (venue time {now}); "
                "set it later, or compare your clock with the venue's",
            )

    def _use_nonce(self, submit: Submit) -> None:
        window = self.state.nonces.get(submit.signer)
        if window is None:
            window = self.state.nonces[submit.signer] = NonceWindow()
        used, nonce = window.used, submit.nonce
        if not used or nonce > used[-1]:
            used.append(nonce)
        else:
            insort(used, nonce)
        if len(used) > NONCES_KEPT:
            del used[0]

    def _record(self, submit: Submit, context: ActionContext, action: str, code: int, message: str) -> None:
        state = self.state
        height = self.height
        address = context.account.address
        record = Transaction(
            state.transactions,
            height,
            state.time,
            self.tx_hash(),
            submit.signer,
            address,
            action,
            submit.nonce,
            code,
            message,
        )
        state.history.transactions.add(address, record)
        if "blocks" not in state.schedule:
            state.schedule["blocks"] = state.genesis_time + height * state.block_ms
        self.emit(ev.TxDone(height, state.time, record.hash, submit.signer, address, action, code))

    def _advance(self, until: int) -> None:
        state = self.state
        if until <= state.time:
            return
        schedule, before = state.schedule, self.height
        while schedule:
            due = min(schedule.values())
            if due > until:
                break
            state.time = max(due, state.time)
            self.height = self._height()
            for name, rule in self.processes:
                if schedule.get(name) == due:
                    self._open_step(b"")
                    following = rule(self, due)
                    if following is None:
                        schedule.pop(name, None)
                    else:
                        assert following > due, f"{name} would never let time pass"
                        schedule[name] = following
            self._follow()
        state.time = until
        self.height = height = self._height()
        if height != before:
            blocks = state.history.blocks
            count = blocks[-1].count if blocks and blocks[-1].height == height - 1 else 0
            self.emit(ev.BlockDone(height - 1, state.genesis_time + (height - 1) * state.block_ms, count))

    def _height(self) -> int:
        state = self.state
        return 1 + (state.time - state.genesis_time) // state.block_ms

    def _follow(self) -> None:
        again = True
        while again:
            again = False
            for _, rule in self.post_command_hooks:
                again = bool(rule(self)) or again


def _forget(event: ev.Event) -> None:
    """Take an event that nobody reads."""


@process("settle")
def settle(core: Core, time: int) -> int | None:
    """Let answered actions take effect when the delay of settlement is over."""
    waiting = core.state.unsettled
    while waiting and waiting[0].due <= time:
        core.execute_unsettled(waiting.pop(0))
    return waiting[0].due if waiting else None


@process("blocks")
def close_block(core: Core, time: int) -> int | None:
    """Close the open block at its end; it sleeps until the next transaction."""
    state = core.state
    records = state.history.transactions.records
    first = state.block_first
    if first < len(records):
        height = records[first].height
        digest = hashlib.sha256(core.block_hash(height).encode())
        for record in records[first:]:
            digest.update(record.hash.encode())
        block = Block(height, time, "0x" + digest.hexdigest(), first, len(records) - first)
        state.history.blocks.append(block)
        state.block_first = len(records)
    return None


def begin(genesis: Genesis) -> State:
    """Return the first state of a genesis, before any rule has begun."""
    state = State(
        seed=genesis.seed,
        genesis_time=genesis.time,
        time=genesis.time,
        block_ms=genesis.block_ms,
        products={int(row["code"]): dict(row) for row in genesis.products},
        margin_tables={table: [dict(row) for row in rows] for table, rows in genesis.margin_tables.items()},
        random=genesis.seed & 0xFFFF_FFFF_FFFF_FFFF,
        config=genesis.config,
        settings=dict(genesis.settings),
    )
    for code, row in state.products.items():
        product = Product.from_row(row, state.margin_tables[int(row["marginTableId"])])
        first = int(Decimal(genesis.prices.get(code, "0")) / product.tick_size)
        state.markets[code] = MarketState(code, oracle=first, mark=first, last=first)
        state.history.trades[code] = []
        state.history.candles[code] = []
        state.history.funding_rates[code] = []
    return state
