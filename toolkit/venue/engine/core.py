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

KEPT_DIGESTS = 100_000
"""Requests whose signed data is known by its hash."""

Authorize = Callable[["Core", Submit], ActionContext]
EnterVault = Callable[["Core", ActionContext, str], None]
PriceSource = Callable[["Core", int, int], tuple[int, int]]
"""source(core, product code, time) → (oracle, external) price in ticks, 0 = none."""
PassTime = Callable[["Core", int], bool]
"""rule(core, until) does a part of the work due up to `until` ms, as the processes would, or returns False."""


def authorize_owner(core: Core, submit: Submit) -> ActionContext:
    """Let every existing account sign for itself: the rule of a core without permissions.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose accounts may sign.
    submit : Submit
        Request whose signer is looked up.

    Raises
    ------
    WireError
        If the signer has no account.
    """
    account = core.state.accounts.get(submit.signer)
    if account is None:
        raise WireError(SIGNATURE, f"signer {submit.signer} has no account here")
    return ActionContext(account, submit.signer, submit.nonce, core.state.time, core.tx_hash(), submit.vault)


def refuse_vaults(core: Core, context: ActionContext, action: str) -> None:
    """Refuse every vault: the rule of a core without vaults.

    Parameters
    ----------
    core : Core
        State machine of the venue, not used here.
    context : ActionContext
        Context of the request, whose vault is named in the refusal.
    action : str
        Type of the action, not used here.

    Raises
    ------
    Refused
        Always.
    """
    raise Refused(TxCode.UNKNOWN_VAULT, f"there is no vault {context.vault}")


class Core:
    """The state machine of one venue.

    Every change goes through `apply`. Reading is free.

    Parameters
    ----------
    genesis : Genesis or None, optional
        How a new venue begins (default: `Genesis()`). It is not read when `state` is given.
    state : State or None, optional
        State of a venue to continue from (default: none, a new venue begins).

    Attributes
    ----------
    state : State
        Everything that is hashed and dumped. See `model.state`. All other attributes are rebuilt from it.
    events : list of Event
        What has happened since the shell last cleared the list, in order.
    recording : bool
        Whether events are recorded, because something takes them. See `record_events`.
    height : int
        Height of the open block. The first block is 1.
    step_hash : str
        Hash of the current transaction or system step, "" until `tx_hash` computes it.
    digests : dict of str to str
        Hash of a transaction → hash of its signed data, of the last `KEPT_DIGESTS` requests. Not part of the state.
    products : dict of int to Product
        Product code → Product, built from `state.products`.
    risk_index : RiskIndex
        Tables and indexes of the money rules.
    price_source : callable or None
        Where oracle prices come from. `None` while they only change by hand.
    premiums : dict of (int, int) to int
        Product code and time of a settlement → the mean premium that it takes in place of the market's own, in parts of
        FINE. A replay sets it, and like the source of prices it is not part of the state.
    pass_time : callable or None
        What passes time that affects no one faster than the processes. `None` = nothing does.
    books : Books
        Product code → order book, built from the accounts' resting orders.
    triggers : dict of int to Triggers
        Product code → waiting triggers, built from the accounts' waiting orders.
    authorize : callable
        Who may do what. `permissions` replaces the default, which knows no agents.
    enter_vault : callable
        Puts the vault's account into the context of a request with a vaultAddress, or raises Refused.
    """

    def __init__(self, genesis: Genesis | None = None, *, state: State | None = None) -> None:
        self.handlers = registry.HANDLERS
        self.controls = registry.CONTROLS
        self.processes = registry.ordered(registry.PROCESSES)
        self.post_command_hooks = registry.ordered(registry.POST_COMMAND_HOOKS)
        # The rules of `attach` below replace these, so that the engine imports no room above it.
        self.authorize: Authorize = authorize_owner
        self.enter_vault: EnterVault = refuse_vaults
        self.events: list[ev.Event] = []
        self.recording = True
        self.step_hash = ""
        self.digests: dict[str, str] = {}
        self._digest: bytes | tuple[str, int] = b""
        """The digest of a request, or name and time of a process."""
        self.state = first_state(genesis or Genesis()) if state is None else state
        self.height = self._height()
        self.products: dict[int, VenueProduct] = {}
        self.risk_index = RiskIndex()
        self.price_source: PriceSource | None = None
        self.premiums: dict[tuple[int, int], int] = {}
        self.pass_time: PassTime | None = None
        self.books = Books()
        self.triggers: dict[int, Triggers] = {}
        self.rebuild_products()
        # Indexes come before the first commands of `begin`, because those already trade and are checked.
        registry.attach(self)
        if state is None:
            registry.begin(self, genesis or Genesis())
        history = self.state.history
        # What the genesis or a dump contains is not verified again with the first command.
        self._verified = self.state.time, len(history.orders.records), len(history.ledger.records)

    def account(self, address: str) -> VenueAccount:
        """Return the account of an address, opening it when it is new.

        Parameters
        ----------
        address : str
            Address of the account. Its letters may have any case.
        """
        # Signers arrive in lower case. A checksummed spelling must not open a second account.
        address, state = address.lower(), self.state
        if address not in state.accounts:
            state.accounts[address] = VenueAccount(address, created=state.time, updated=state.time)
        return state.accounts[address]

    def product(self, code: int) -> VenueProduct:
        """Return the product of a code.

        Parameters
        ----------
        code : int
            Code of the product, 1 or more.

        Raises
        ------
        Refused
            If there is none. The reason names the known codes.
        """
        found = self.products.get(code)
        if found is None:
            known = ", ".join(f"{p.code} {p.symbol}" for p in self.products.values())
            raise Refused(TxCode.UNKNOWN_PRODUCT, f"symbolCode {code} is not a product. Known are {known}")
        return found

    def record_events(self, recording: bool) -> None:
        """Switch the recording of events on or off.

        While it is off, the most frequent events are not even created.

        Parameters
        ----------
        recording : bool
            True records events for the feed, False drops them.
        """
        self.recording = recording

    def emit(self, event: ev.Event) -> None:
        """Record an event, if events are recorded.

        Parameters
        ----------
        event : Event
            What has happened. Its records may be those of the history, and are never changed.
        """
        if self.recording:
            self.events.append(event)

    def tx_hash(self) -> str:
        """Return the hash of the current transaction or system step."""
        if not self.step_hash:
            step = self._digest
            digest = step if isinstance(step, bytes) else b"%d:%s" % (step[1], step[0].encode())
            # The count makes the hash of a repeated request differ. The seed makes that of another venue differ.
            text = f"{self.state.seed}:{self.state.transactions}:".encode() + digest
            self.step_hash = "0x" + hashlib.sha256(text).hexdigest()
            if digest and digest is step:
                self.digests[self.step_hash] = "0x" + digest.hex()
                # Clients ask within minutes. The oldest is the first of a dict.
                if len(self.digests) > KEPT_DIGESTS:
                    del self.digests[next(iter(self.digests))]
        return self.step_hash

    def block_hash(self, height: int) -> str:
        """Return the hash of a complete block without transactions (the history has those of the others).

        Block 0 is the genesis: its hash identifies the market. It depends on what never changes afterwards.

        Parameters
        ----------
        height : int
            Number of the block. 0 is the genesis.
        """
        if not height:
            state = self.state
            # Sorted, because the order of insertion must not change the identity of a market.
            codes, settings = sorted(state.products), sorted(state.settings.items())
            first = state.seed, state.genesis_time, state.block_ms, codes, state.config, settings
            return "0x" + hashlib.sha256(b"genesis:" + msgspec.msgpack.encode(first)).hexdigest()
        return "0x" + hashlib.sha256(f"block:{self.state.seed}:{height}".encode()).hexdigest()

    def wake(self, name: str, time: int) -> None:
        """Make a process due at `time`, or earlier if it already is.

        Parameters
        ----------
        name : str
            Name of the process in the registry.
        time : int
            Latest time at which it runs next, Unix ms.
        """
        due = self.state.schedule.get(name)
        # A process keeps an earlier instant. It may find nothing to do then, but it must not be late.
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
        """Return the slices of a dump of the present state, encoded as they are read.

        See `dump_format.slices`.

        Parameters
        ----------
        whole : bool, optional
            False only names the chunks of the history that a journal keeps elsewhere (default: `True`).
        """
        # Values that are computed on demand are brought to the present, so that reading leaves no trace in the hash.
        self.books.settle()
        return dump_format.slices(self.state, whole=whole)

    @classmethod
    def load(cls, data: bytes, name: object = "these bytes", fetch: dump_format.Fetch | None = None) -> Core:
        """Return a core that continues from a dump.

        See `dump_format.load`.

        Parameters
        ----------
        data : bytes
            Bytes of the dump.
        name : object, optional
            Name of the file or source, for errors (default: "these bytes").
        fetch : dump_format.Fetch or None, optional
            Returns the chunk of the history with a name, for slices that a journal kept (default: none, the dump is
            whole).

        Raises
        ------
        StoredFileError
            If the bytes are damaged or of another version. The error has `name`.
        """
        state = dump_format.load(data, name, fetch)
        try:
            return cls(state=state)
        except Exception as error:  # damaged bytes can decode to a state that any rule fails on
            raise dump_format.KIND.damaged(name, f"{type(error).__name__}: {error}") from error

    def violations(self, *, history: bool = True) -> list[str]:
        """Return one sentence for each invariant that the state breaks.

        The list of a sound state is empty.

        The cost grows with the accounts and orders. `history=False` leaves out the invariants that read the whole
        history, so that the others can be checked after every command.

        Parameters
        ----------
        history : bool, optional
            False leaves out the invariants that read the whole history (default: `True`).
        """
        rules = [*registry.INVARIANTS.values(), *(registry.HISTORY_INVARIANTS.values() if history else ())]
        return [violation for rule in rules for violation in rule(self)]

    def check(self, *, history: bool = True) -> None:
        """Check every invariant of the state.

        See `violations`.

        Parameters
        ----------
        history : bool, optional
            False leaves out the invariants that read the whole history (default: `True`).

        Raises
        ------
        VenueError
            If the state breaks any. The error names all of them.
        """
        found = self.violations(history=history)
        if found:
            raise VenueError("the state breaks its invariants: " + "; ".join(found))

    def apply(self, command: Command) -> Outcome:
        """Execute one command and return its outcome.

        Time never runs back: an earlier time counts as the present one.

        A rule that fails with an unexpected exception (a bug, or an error in a user's own control) raises it here.

        Parameters
        ----------
        command : Command
            What to execute. Its time is in Unix ms.
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
        # A control can change what simulated makers quote, and no event says so. The feed then reads every level again.
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
            # The checks follow the order of the answers that the interface documents: unsupported, signature, nonce,
            # expiry.
            # A request that may not act must not use up a nonce, so its sender is checked first.
            context = self.authorize(self, submit)
            check_nonce(self.state, submit)
        except WireError as error:
            return Outcome(error.code, error.message, error.data, error.status)
        # A first claim opens its account here and not in `authorize`, which also decides on requests that are refused.
        self.state.accounts.setdefault(context.account.address, context.account)
        # The nonce counts as used before the action runs, and also when a business rule refuses it. A refused request
        # can therefore not be sent again unchanged.
        if action not in UNSIGNED_NONCES:
            use_nonce(self.state, submit)
        # With a settlement delay the answer says only that the request was taken, as a venue with consensus answers.
        delay = self.state.settings.get("settleDelay", 0)
        if delay:
            return self._postpone(context, submit, delay)
        outcome = self.execute(context, submit, action)
        if action in UNSIGNED_NONCES and outcome.code == 0:
            use_nonce(self.state, submit)
        return outcome

    def execute(self, context: ActionContext, submit: Submit, action: str, *, late: bool = False) -> Outcome:
        """Execute an action whose sender is authorized, and record its transaction.

        Parameters
        ----------
        context : ActionContext
            Account, signer and transaction of the action.
        submit : Submit
            Request with the action as JSON.
        action : str
            Type of the action, a key of `handlers`.
        late : bool, optional
            True if the request was answered before. The transaction then keeps the data of the action (default:
            `False`).
        """
        try:
            if context.vault is not None:
                self.enter_vault(self, context, action)
            result = self.handlers[action](self, context, submit.action)
            outcome = result if isinstance(result, Outcome) else Outcome(data=result)
            code, message = (outcome.code, outcome.message) if outcome.code else (0, "")
        except Refused as refusal:
            code, message = refusal.code, refusal.reason
            # A refusal is a transaction with a hash and a txCode. It is recorded like an executed one.
            outcome = Outcome(REFUSED, message, {})
        except WireError as error:
            code, message = error.code, error.message
            outcome = Outcome(error.code, message, error.data, error.status)
        returned = None
        # The caller of a late action has its answer already, so its data are only found in the transaction. Results of
        # orders are in their events, and would be stored twice.
        if late and outcome.data:
            returned = {name: value for name, value in outcome.data.items() if name != "results"} or None
        # The height is that of the present block: a late action belongs to the block that executes it.
        step, address = (self.state.transactions, self.height, self.state.time, self.tx_hash()), context.account.address
        done = Transaction(*step, submit.signer, address, action, submit.nonce, code, message, returned)
        self.state.history.transactions.add(done.address, done)
        # The process that closes blocks sleeps while blocks are empty. The first transaction of a block wakes it.
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
        """Execute an action that was answered before.

        A refusal shows in its transaction and order events.

        Parameters
        ----------
        waiting : Unsettled
            The action, and what the answer already named.
        """
        self.step_hash, now = waiting.tx_hash, self.state.time  # the answer already named this hash
        who = self.state.accounts[waiting.account], waiting.signer, waiting.nonce
        context = ActionContext(*who, now, waiting.tx_hash, waiting.vault, waiting.builder)
        submit = Submit(now, waiting.action, waiting.signer, waiting.nonce, vault=waiting.vault)
        # Hooks run after each late action, as they would after a separate command.
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
        """Begin a transaction or system step.

        Its hash is only computed when something needs it.

        Parameters
        ----------
        digest : bytes, optional
            Hash of the signed data, from which the transaction hash is made. Empty for a control (default: empty).
        """
        # Refused requests count too, because the number is part of each hash.
        self.state.transactions += 1
        self._digest = digest
        self.step_hash = ""

    def advance(self, until: int) -> None:
        """Run every process that is due up to and including `until` ms, in order of time, then set the time to it.

        Parameters
        ----------
        until : int
            Time that the venue then has, Unix ms. An earlier time than the present one changes nothing.
        """
        state = self.state
        if until <= state.time:
            return
        schedule, before = state.schedule, self.height
        while schedule:
            due = min(schedule.values())
            if due > until:
                break
            # `pass_time` moves the schedule itself, so the next due process is looked up again.
            if self.pass_time is not None and self.pass_time(self, until):
                continue
            # A process may have been woken for a time that has passed; it runs now, because time never runs back.
            if due > state.time:
                # Unfolded books are those of the present instant, so they end before the time changes.
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
                        # A process that stays due at this instant would keep the loop here.
                        assert following > due, f"{name} would never let time pass"
                        schedule[name] = following
            self.run_hooks()
        self.books.fold()
        state.time = until
        if self.recording:
            self.books.tell()
        # Processes can cross blocks inside the loop. The event names the last complete block only.
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
    """Execute the answered actions whose settlement delay is over.

    Parameters
    ----------
    core : Core
        State machine of the venue, which executes the actions.
    time : int
        Instant at which the process is due, Unix ms.
    """
    waiting = core.state.unsettled
    while waiting and waiting[0].due <= time:
        core.execute_unsettled(waiting.pop(0))
    return waiting[0].due if waiting else None


@process("blocks")
def close_block(core: Core, time: int) -> int | None:
    """Close the open block at its end.

    The process sleeps until the next transaction, so empty blocks cost nothing.

    Parameters
    ----------
    core : Core
        State machine of the venue, whose open block is closed.
    time : int
        End of the open block, Unix ms.
    """
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
