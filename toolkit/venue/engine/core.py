"""The core of the venue: a deterministic state machine that turns commands into outcomes and events.

The core does no I/O, reads no clock and has no randomness: time comes with the commands, chance from the
seed in the state. A single writer calls `Core.apply`. The rules of the rooms above register themselves by name in
`registry`, which loads them and fixes the order in which they run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from ...errors import InputError, VenueError
from ...products import VenueProduct
from ..model.accounts import VenueAccount
from ..model.book import Books, Triggers
from ..model.constants import ENDED
from ..model.genesis import Genesis
from ..model.history import Block, Transaction
from ..model.risk_index import RiskIndex
from ..model.state import State, Unsettled, first_state
from . import changes as ev
from . import dump_format, registry
from .arguments import check_types
from .commands import (
    REFUSED,
    SIGNATURE,
    UNSIGNED_NONCES,
    UNSUPPORTED,
    ActionContext,
    Command,
    Control,
    Outcome,
    Refused,
    Submit,
    TxCode,
    WireError,
    check_nonce,
    use_nonce,
)
from .registry import process

Authorize = Callable[["Core", Submit], ActionContext]
EnterVault = Callable[["Core", ActionContext, str], None]
PriceSource = Callable[["Core", int, int], tuple[int, int]]
"""source(core, product code, time) → (oracle, external) price in ticks, 0 = none."""
PassTime = Callable[["Core", int], bool]
"""rule(core, until) does a part of the work due up to `until` ms, as the processes would, or returns False."""


def authorize_owner(core: Core, submit: Submit) -> ActionContext:
    """Let every existing account sign for itself: the rule of a core without permissions."""
    account = core.state.accounts.get(submit.signer)
    if account is None:
        raise WireError(SIGNATURE, f"signer {submit.signer} has no account here")
    return ActionContext(account, submit.signer, submit.nonce, core.state.time, core.tx_hash(), submit.vault)


def refuse_vaults(core: Core, context: ActionContext, action: str) -> None:
    """Refuse every vault: the rule of a core without vaults."""
    raise Refused(TxCode.UNKNOWN_VAULT, f"there is no vault {context.vault}")


class Core:
    """The state machine of one venue. Every change goes through `apply`. Reading is free.

    Attributes:
        state: everything that is hashed and dumped. See `model.state`.
        events: what has happened since the shell last cleared the list, in order.
        recording: whether events are recorded, because something takes them. See `record_events`.
        height: height of the open block. The first block is 1.
        step_hash: hash of the current transaction or system step, "" until `tx_hash` computes it.
        products: product code → VenueProduct, built from `state.products`.
        risk_index: tables and indexes of the money rules.
        price_source: where oracle prices come from, None while they only change by hand.
        pass_time: what passes time that affects no one faster than the processes. None = nothing does.
        books: product code → order book, built from the accounts' resting orders.
        triggers: product code → waiting triggers, built from the accounts' waiting orders.
        authorize: who may do what. `permissions` replaces the default, which knows no agents.
        enter_vault: puts the vault's account into the context of a request with a vaultAddress, or raises Refused.
    """

    def __init__(self, genesis: Genesis | None = None, *, state: State | None = None) -> None:
        self.handlers = registry.HANDLERS
        self.controls = registry.CONTROLS
        self.processes = registry.ordered(registry.PROCESSES)
        self.post_command_hooks = registry.ordered(registry.POST_COMMAND_HOOKS)
        self.authorize: Authorize = authorize_owner
        self.enter_vault: EnterVault = refuse_vaults
        self.events: list[ev.Event] = []
        self.recording = True
        self.step_hash = ""
        self._digest: bytes | tuple[str, int] = b""
        """The digest of a request, or name and time of a process."""
        self.state = first_state(genesis or Genesis()) if state is None else state
        self.height = self._height()
        self.products: dict[int, VenueProduct] = {}
        self.risk_index = RiskIndex()
        self.price_source: PriceSource | None = None
        self.pass_time: PassTime | None = None
        self.books = Books()
        self.triggers: dict[int, Triggers] = {}
        self.rebuild_products()
        registry.attach(self)
        if state is None:
            registry.begin(self, genesis or Genesis())
        history = self.state.history
        self._verified = self.state.time, len(history.orders.records), len(history.ledger.records)

    def account(self, address: str) -> VenueAccount:
        """Return the account of an address, opening it when it is new."""
        address, state = address.lower(), self.state
        if address not in state.accounts:
            state.accounts[address] = VenueAccount(address, created=state.time, updated=state.time)
        return state.accounts[address]

    def product(self, code: int) -> VenueProduct:
        """Return the product of a code. Raises Refused, which names the known codes, when there is none."""
        found = self.products.get(code)
        if found is None:
            known = ", ".join(f"{p.code} {p.symbol}" for p in self.products.values())
            raise Refused(TxCode.UNKNOWN_PRODUCT, f"symbolCode {code} is not a product. Known are {known}")
        return found

    def record_events(self, recording: bool) -> None:
        """Switch the recording of events on or off. While it is off, the most frequent events are not even created."""
        self.recording = recording

    def emit(self, event: ev.Event) -> None:
        """Record an event, if events are recorded."""
        if self.recording:
            self.events.append(event)

    def tx_hash(self) -> str:
        """Return the hash of the current transaction or system step."""
        if not self.step_hash:
            step = self._digest
            digest = step if isinstance(step, bytes) else b"%d:%s" % (step[1], step[0].encode())
            text = b"%d:%d:" % (self.state.seed, self.state.transactions) + digest
            self.step_hash = "0x" + hashlib.sha256(text).hexdigest()
        return self.step_hash

    def block_hash(self, height: int) -> str:
        """Return the hash of a complete block without transactions (the history has those of the others).

        Block 0 is the genesis: its hash identifies the market. It depends on what never changes afterwards.
        """
        if not height:
            state = self.state
            codes, settings = sorted(state.products), sorted(state.settings.items())
            first = state.seed, state.genesis_time, state.block_ms, codes, state.config, settings
            return "0x" + hashlib.sha256(b"genesis:" + msgspec.msgpack.encode(first)).hexdigest()
        return "0x" + hashlib.sha256(b"block:%d:%d" % (self.state.seed, height)).hexdigest()

    def wake(self, name: str, time: int) -> None:
        """Make a process due at `time`, or earlier if it already is."""
        due = self.state.schedule.get(name)
        if due is None or time < due:
            self.state.schedule[name] = time

    def rebuild_products(self) -> None:
        """Rebuild the Product objects after `state.products` or `state.margin_tables` changed."""
        state = self.state
        for code, row in state.products.items():
            self.products[code] = VenueProduct.from_row(row, state.margin_tables[int(row["marginTableId"])])
        marks = {code: market.mark for code, market in state.markets.items()}
        self.risk_index.rebuild_products(self.products, marks)

    def state_hash(self) -> str:
        """Return the SHA-256 of the whole state, as 64 hex digits."""
        return dump_format.hash_of(self.slices())

    def dump(self) -> bytes:
        """Return the whole state as bytes. `Core.load` returns a core that continues identically."""
        return dump_format.joined(self.slices())

    def slices(self, *, whole: bool = True) -> Iterator[bytes]:
        """Return the slices of a dump of the present state, encoded as they are read. See `dump_format.slices`."""
        self.books.settle()
        return dump_format.slices(self.state, whole=whole)

    @classmethod
    def load(cls, data: bytes, name: object = "these bytes", fetch: dump_format.Fetch | None = None) -> Core:
        """Return a core that continues from a dump. See `dump_format.load`. Raises StoredFileError, which names it, for
        damaged bytes and for other versions'."""
        state = dump_format.load(data, name, fetch)
        try:
            return cls(state=state)
        except Exception as error:  # damaged bytes can decode to a state that any rule fails on
            raise dump_format.KIND.damaged(name, f"{type(error).__name__}: {error}") from error

    def violations(self, *, history: bool = True) -> list[str]:
        """Return one sentence for each invariant that the state breaks. The list of a sound state is empty.

        The cost grows with the accounts and orders. `history=False` leaves out the invariants that read the whole
        history, so that the others can be checked after every command.
        """
        rules = [*registry.INVARIANTS.values(), *(registry.HISTORY_INVARIANTS.values() if history else ())]
        return [violation for rule in rules for violation in rule(self)]

    def check(self, *, history: bool = True) -> None:
        """Raise VenueError that names every invariant the state breaks. See `violations`."""
        found = self.violations(history=history)
        if found:
            raise VenueError("the state breaks its invariants: " + "; ".join(found))

    def apply(self, command: Command) -> Outcome:
        """Execute one command and return its outcome. Time never runs back: an earlier time counts as the present one.

        A rule that fails with an unexpected exception (a bug, or an error in a user's own control) raises it here.
        """
        self.advance(command.time)
        try:
            if type(command) is Submit:
                outcome = self._submit(command)
            elif type(command) is Control:
                outcome = self._control(command)
            else:
                self._verify()
                return Outcome()
        except Exception:
            # What the rule changed before it failed is followed up now, because the indexes of what changed are not
            # part of the state: a core restored from a dump would not, and would continue differently.
            self.run_hooks()
            raise
        self.run_hooks()
        if self.recording and type(command) is Control:
            self.books.tell()
        self._verify()
        return outcome

    def _submit(self, submit: Submit) -> Outcome:
        action = str(submit.action.get("type", ""))
        self.open_step(submit.digest)
        try:
            if action not in self.handlers:
                raise WireError(UNSUPPORTED, f"action type {action!r} is not supported here")
            # A request that may not act must not use up a nonce, so its sender is checked first.
            context = self.authorize(self, submit)
            check_nonce(self.state, submit)
        except WireError as error:
            return Outcome(error.code, error.message, error.data, error.status)
        # A first claim opens its account here and not in `authorize`, which also decides on requests that are refused.
        self.state.accounts.setdefault(context.account.address, context.account)
        if action not in UNSIGNED_NONCES:
            use_nonce(self.state, submit)
        delay = self.state.settings.get("settleDelay", 0)
        if delay:
            return self._postpone(context, submit, delay)
        outcome = self.execute(context, submit, action)
        if action in UNSIGNED_NONCES and outcome.code == 0:
            use_nonce(self.state, submit)
        return outcome

    def execute(self, context: ActionContext, submit: Submit, action: str, *, late: bool = False) -> Outcome:
        """Execute an action whose sender is authorized, and record its transaction. `late`: it was answered before."""
        try:
            if context.vault is not None:
                self.enter_vault(self, context, action)
            result = self.handlers[action](self, context, submit.action)
            outcome = result if isinstance(result, Outcome) else Outcome(data=result)
            code, message = (outcome.code, outcome.message) if outcome.code else (0, "")
        except Refused as refusal:
            code, message = refusal.code, refusal.reason
            outcome = Outcome(REFUSED, message, {})
        except WireError as error:
            code, message = error.code, error.message
            outcome = Outcome(error.code, message, error.data, error.status)
        returned = None
        if late and outcome.data:
            returned = {name: value for name, value in outcome.data.items() if name != "results"} or None
        step, address = (self.state.transactions, self.height, self.state.time, self.tx_hash()), context.account.address
        done = Transaction(*step, submit.signer, address, action, submit.nonce, code, message, returned)
        self.state.history.transactions.add(done.address, done)
        if "blocks" not in self.state.schedule:
            self.state.schedule["blocks"] = self.state.genesis_time + done.height * self.state.block_ms
        self.emit(done)
        data = {"txHash": self.tx_hash(), "txCode": code, "txMsg": message, **(outcome.data or {})}
        return Outcome(outcome.code, outcome.message, data, outcome.status)

    def _postpone(self, context: ActionContext, submit: Submit, delay: int) -> Outcome:
        due, who = self.state.time + delay, (submit.signer, submit.nonce, context.account.address)
        waiting = Unsettled(due, self.tx_hash(), submit.action, *who, submit.vault, context.builder)
        self.state.unsettled.append(waiting)
        self.wake("settle", due)
        return Outcome(data={"txHash": waiting.tx_hash, "txCode": 0, "txMsg": ""})

    def execute_unsettled(self, waiting: Unsettled) -> None:
        """Execute an action that was answered before. A refusal shows in its transaction and order events."""
        self.step_hash, now = waiting.tx_hash, self.state.time  # the answer already named this hash
        who = self.state.accounts[waiting.account], waiting.signer, waiting.nonce
        context = ActionContext(*who, now, waiting.tx_hash, waiting.vault, waiting.builder)
        submit = Submit(now, waiting.action, waiting.signer, waiting.nonce, vault=waiting.vault)
        self.execute(context, submit, str(waiting.action["type"]), late=True)
        self.run_hooks()

    def _control(self, control: Control) -> Outcome:
        rule = self.controls.get(control.name)
        if rule is None:
            known = ", ".join(sorted(self.controls))
            return Outcome(UNSUPPORTED, f"there is no control {control.name!r}. There are {known}")
        self.open_step()
        try:
            check_types(rule, control.args)
            result = rule(self, **control.args)
        except Refused as refusal:
            return Outcome(REFUSED, refusal.reason, {"txCode": refusal.code, "txMsg": refusal.reason})
        except InputError as error:
            return Outcome(REFUSED, str(error), {"txCode": int(TxCode.BAD_ARGUMENT), "txMsg": str(error)})
        return Outcome(data=result if isinstance(result, dict) else None)

    def open_step(self, digest: bytes = b"") -> None:
        """Begin a transaction or system step. Its hash is only computed when something needs it."""
        self.state.transactions += 1
        self._digest = digest
        self.step_hash = ""

    def advance(self, until: int) -> None:
        """Run every process that is due up to and including `until` ms, in order of time, then set the time to it."""
        state = self.state
        if until <= state.time:
            return
        schedule, before = state.schedule, self.height
        while schedule:
            due = min(schedule.values())
            if due > until:
                break
            if self.pass_time is not None and self.pass_time(self, until):
                continue
            # A process may have been woken for a time that has passed; it runs now, because time never runs back.
            if due > state.time:
                self.books.fold()
                state.time = due
            self.height = self._height()
            for name, rule in self.processes:
                # Looked up for each process, because those before it may have woken or stopped it at this instant.
                if schedule.get(name) == due:
                    # the hash is that of name and instant, however many steps came before
                    self._digest, self.step_hash = (name, due), ""
                    following = rule(self, due)
                    if following is None:
                        schedule.pop(name, None)
                    else:
                        assert following > due, f"{name} would never let time pass"
                        schedule[name] = following
            self.run_hooks()
        self.books.fold()
        state.time = until
        if self.recording:
            self.books.tell()
        self.height = height = self._height()
        if height != before:
            blocks = state.history.blocks
            count = blocks[-1].count if blocks and blocks[-1].height == height - 1 else 0
            self.emit(ev.BlockDone(height - 1, state.genesis_time + (height - 1) * state.block_ms, count))

    def _height(self) -> int:
        state = self.state
        return 1 + (state.time - state.genesis_time) // state.block_ms

    def run_hooks(self) -> None:
        """Run the post-command hooks until none of them trades: each trade can trigger an order or a liquidation."""
        again = True
        while again:
            again = False
            for _, rule in self.post_command_hooks:
                if rule(self):
                    again = True

    def _verify(self) -> None:
        """Assert what must hold of time and of the records a command added, at the cost of these records only.

        `check` is the whole examination.
        """
        state, (time, ended, booked) = self.state, self._verified
        orders, transfers = state.history.orders.records, state.history.ledger.records
        self._verified = state.time, len(orders), len(transfers)
        assert state.time >= time, f"time ran back from {time} to {state.time}"
        for order in orders[ended:] if len(orders) > ended else ():
            assert order.status in ENDED, f"an ended order has the status of an open one: {order}"
            assert not order.leaves, f"an ended order has open steps: {order}"
            assert order.id not in state.accounts[order.address].orders, f"an ended order is live: {order}"
        for transfer in transfers[booked:] if len(transfers) > booked else ():
            # The rounding account gets what the receiver does not; it never pays.
            assert 0 <= transfer.received <= transfer.paid, f"a transfer does not balance: {transfer}"


@process("settle")
def settle(core: Core, time: int) -> int | None:
    """Execute the answered actions whose settlement delay is over."""
    waiting = core.state.unsettled
    while waiting and waiting[0].due <= time:
        core.execute_unsettled(waiting.pop(0))
    return waiting[0].due if waiting else None


@process("blocks")
def close_block(core: Core, time: int) -> int | None:
    """Close the open block at its end. The process sleeps until the next transaction, so empty blocks cost nothing."""
    state = core.state
    records = state.history.transactions.records
    first = state.block_first
    if first < len(records):
        height = records[first].height
        digest = hashlib.sha256(core.block_hash(height).encode())
        for record in records[first:]:
            digest.update(record.hash.encode())
        state.history.blocks.append(Block(height, time, "0x" + digest.hexdigest(), first, len(records) - first))
        state.block_first = len(records)
    return None
