"""Seeded bad days: two clients and a venue with a journal, while requests get lost, both sides crash, and time passes.

`play(seed, folder)` runs one schedule and checks at its end that clients and venue agree on everything: no order was
placed twice, nothing that was answered is lost, nothing stays in doubt, and the venue's invariants hold.
"""

from __future__ import annotations

import contextlib
import functools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

import toolkit
from toolkit.client.io.rate_limits import Rate
from toolkit.client.io.transport import Retry
from toolkit.client.orders.intents import Intent, IntentState
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.connecting import development_wallet
from toolkit.errors import ToolkitError
from toolkit.protocol.enums import OrderStatus
from toolkit.session import Session
from toolkit.venue.engine.commands import Command
from toolkit.venue.lab.faults import AFTER, BEFORE
from toolkit.venue.local import LocalVenue

STEPS = 40
PATIENT = Retry(attempts=3, base=0.0, cap=0.0, longest=0.0)
MOMENTS = ("now", "before it is written", "before it is applied", "before it is answered")


class Killed(BaseException):
    """The client's process was killed."""


class Crashed(BaseException):
    """The venue's process was killed."""


class Nonces:
    """The last nonce of a key, on a disk that outlives the client."""

    def __init__(self) -> None:
        self._last = 0

    is_kept = False

    def next(
        self, now_ms: int, step: int = 0, *, known: bool = False, must_keep: bool = True, chance: float = 0.0
    ) -> int:
        self._last = max(self._last + 1, now_ms) + step
        return self._last

    def would_jump(self, now_ms: int) -> bool:
        return False


class MortalLedger(SqliteLedger):
    """A ledger on disk whose process may die at any step, before or after it is written."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(_empty_ledger())
        super().__init__(path)
        self._database.execute("PRAGMA synchronous = OFF")
        self.steps_to_live: int | None = None

    def record(self, intent: Intent) -> None:
        with self._mortal():
            super().record(intent)

    def update(self, id: str, now: int, **changes: Any) -> Intent:
        with self._mortal():
            return super().update(id, now, **changes)

    @contextlib.contextmanager
    def _mortal(self) -> Iterator[None]:
        if self.steps_to_live == 0:
            raise Killed
        yield
        if self.steps_to_live is not None:
            self.steps_to_live -= 1


@functools.cache
def _empty_ledger() -> bytes:
    """Made once, because a new file waits for the disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        SqliteLedger(path).close()
        return path.read_bytes()


@functools.cache
def _new_journal() -> bytes:
    """The same for the journal of a new venue."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        LocalVenue(journal=path, sync="os", clock="manual", accounts=2, market=False).close()
        return path.read_bytes()


class Line(httpx.BaseTransport):
    """The client's way to the venue. Records every answer that arrived; interrupts on demand."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.interrupt: str = ""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        stroke, self.interrupt = self.interrupt, ""
        if stroke == "before":
            raise KeyboardInterrupt
        response = self.world.carry(request)
        if stroke == "after":
            raise KeyboardInterrupt
        self.world.record_answer(response)
        return response


class World:
    """One venue and its clients."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.random = random.Random(seed).random
        self.folder = folder
        self.down = 0
        self.moment = ""
        self.answered: set[str] = set()
        self.story: list[str] = []
        self.ended: list[list[Intent]] = []
        """The clients' intents at the end."""
        (folder / "journal").write_bytes(_new_journal())
        self.venue = self._start()
        self.venue.control.add_liquidity("BTCUSDC", "BUY", "62300", "0.05", levels=5, gap="20")
        self.venue.control.add_liquidity("BTCUSDC", "SELL", "62700", "0.05", levels=5, gap="20")
        self.nonces: dict[str, Nonces] = {}
        self.lines = [Line(self), Line(self)]
        self._ledgers: dict[int, MortalLedger] = {}
        self.clients = [self._client(0), self._client(1)]
        for client in self.clients:
            client.exchange.approve_agent(validity_seconds=86_400)

    # the venue

    def _start(self) -> LocalVenue:
        venue = LocalVenue(journal=self.folder / "journal", sync="os", clock="manual")
        assert venue.host.journal is not None
        append = venue.host.journal.append

        def mortal(command: Command) -> None:
            if self.moment == "before it is written":
                raise Crashed
            append(command)
            if self.moment == "before it is applied":
                raise Crashed

        venue.host.journal.append = mortal  # type: ignore[method-assign]
        return venue

    def now_ms(self) -> int:
        """The clock of both clients."""
        return self.venue.host.now_ms()

    elapsed_ms = now_ms

    def sleep(self, seconds: float) -> None:
        """Wait as the clients do: the venue's time passes, no other."""
        self.venue.advance(f"{round(seconds * 1000)}ms")

    def crash(self) -> None:
        """Kill the venue and start it again from its journal."""
        self.moment = ""
        assert self.venue.host.journal is not None
        self.venue.host.journal.close()
        self.venue = self._start()

    def carry(self, request: httpx.Request) -> httpx.Response:
        """Deliver a request to the venue, if it is up and stays up."""
        if self.down:
            self.down -= 1
            raise httpx.ConnectError("the venue is down", request=request)
        try:
            response = self.venue.transport().handle_request(request)
            if self.moment == "before it is answered":
                raise Crashed
        except Crashed:
            self.crash()
            raise httpx.RemoteProtocolError("the venue crashed", request=request) from None
        return response

    def record_answer(self, response: httpx.Response) -> None:
        """Keep the transactions a client got an answer for, to compare them with the venue at the end."""
        if response.status_code == 200:
            with contextlib.suppress(ValueError):
                data = response.json().get("data")
                if isinstance(data, dict) and data.get("txHash"):
                    self.answered.add(str(data["txHash"]))

    # the clients

    def _client(self, number: int) -> Session:
        self._ledgers[number] = MortalLedger(self.folder / f"intents{number}")
        client = toolkit.connect(
            "local",
            base_url="http://127.0.0.1:8645",
            transport=self.lines[number],
            clock=self,  # type: ignore[arg-type]
            wallet=development_wallet(number),
            intents=self._ledgers[number],
            rates=Rate(1e9, 1_000_000),
            retry=PATIENT,
        )
        client._delivery.nonces = lambda address: self.nonces.setdefault(address, Nonces())  # type: ignore[assignment,return-value]
        return client

    def ledger(self, number: int) -> MortalLedger:
        """Return a client's ledger."""
        return self._ledgers[number]

    def restart(self, number: int) -> None:
        """Kill a client and start it again with the ledger it left."""
        self.clients[number].close()
        self.lines[number].interrupt = ""
        self.clients[number] = self._client(number)

    # the schedule

    def step(self) -> None:
        """Do one thing of the schedule."""
        number = self.chance.randrange(2)
        name = self.chance.choices(list(STEP_KINDS), [weight for weight, _ in STEP_KINDS.values()])[0]
        self.story.append(f"{self.now_ms()} client {number}: {name}")
        try:
            STEP_KINDS[name][1](self, number)
        except (ToolkitError, KeyboardInterrupt) as error:
            self.story.append(f"    {type(error).__name__}: {error}")
        except Killed:
            self.story.append("    killed")
            self.restart(number)
        except Crashed:
            self.crash()


def item(chance: random.Random) -> dict[str, Any]:
    """Return an order that mostly makes sense."""
    side = chance.choice(["BUY", "SELL"])
    market = chance.random() < 0.1
    return {
        "symbolCode": 1,
        "ordPx": "0" if market else str(62_500 + chance.randrange(-30, 30) * 10),
        "ordQty": f"0.{chance.randrange(1, 60):03}",
        "ordType": "MARKET" if market else "LIMIT",
        "ordSide": side,
        "timeInForce": "IOC" if market else chance.choice(["GTC", "GTC", "GTC", "POST_ONLY", "FOK"]),
    }


def place(world: World, number: int) -> None:
    count = world.chance.choice([1, 1, 1, 2, 4])
    world.clients[number].exchange.place_order([item(world.chance) for _ in range(count)])


def replace(world: World, number: int) -> None:
    resting = _resting(world, number)
    if resting:
        order = world.chance.choice(resting)
        side, price = ("BUY", 62_400) if order.side > 0 else ("SELL", 62_600)
        change = world.clients[number].exchange.replace_order
        change(1, price + world.chance.randrange(20), "0.011", "LIMIT", side, "GTC", ord_id=order.id)


def cancel(world: World, number: int) -> None:
    resting = _resting(world, number)
    if resting:
        order = world.chance.choice(resting)
        world.clients[number].exchange.cancel_order([{"symbolCode": "1", "ordId": str(order.id)}])


def _resting(world: World, number: int) -> list[Any]:
    account = world.clients[number].account.lower()
    return list(world.venue.host.core.state.accounts[account].orders.values())


def cancel_all(world: World, number: int) -> None:
    world.clients[number].exchange.cancel_all(1)


def leverage(world: World, number: int) -> None:
    world.clients[number].exchange.set_leverage(1, str(world.chance.randrange(2, 45)))


def withdraw(world: World, number: int) -> None:
    client = world.clients[number]
    client.exchange.withdraw(destination=client.account, amount=str(world.chance.randrange(1, 50)))


def fault(world: World, number: int) -> None:
    kind = world.chance.choice([*BEFORE, *AFTER])
    account = world.clients[number].account
    aims: list[dict[str, Any]] = [{}, {"path": "/api/*"}, {"action": "placeOrder"}, {"account": account}]
    made = world.venue.control.add_fault(
        kind,
        after=world.chance.randrange(3),
        count=world.chance.randrange(1, 4),
        delay=f"{world.chance.choice([5, 500, 20_000, 90_000])}ms",
        status=world.chance.choice([500, 502, 503, 504] if kind == "status-after" else [404, 429, 500, 503]),
        code=world.chance.choice([40006, 40220, 40231, 40280]),
        **world.chance.choice(aims),
    )
    world.story.append(f"    {made}")


def advance(world: World, number: int) -> None:
    world.venue.advance(f"{world.chance.choice([1, 40, 700, 5_000, 30_000, 70_000])}ms")


def crash(world: World, number: int) -> None:
    world.moment = world.chance.choice(MOMENTS)
    world.story.append(f"    {world.moment}")
    if world.moment == "now":
        before = world.venue.control.state_hash()
        world.crash()
        assert world.venue.control.state_hash() == before, "a restart changed the state"
        world.down = world.chance.randrange(5)


def kill(world: World, number: int) -> None:
    world.ledger(number).steps_to_live = world.chance.randrange(6)


def interrupt(world: World, number: int) -> None:
    world.lines[number].interrupt = world.chance.choice(["before", "after"])


def resolve(world: World, number: int) -> None:
    world.clients[number].resolve()


def revert(world: World, number: int) -> None:
    """Move ahead and revert, which must leave no trace."""
    mark, before = world.venue.snapshot(), world.venue.control.state_hash()
    world.venue.control.set_oracle("BTCUSDC", "61000")
    world.venue.advance("1h")
    world.venue.revert(mark)
    assert world.venue.control.state_hash() == before, "a revert did not put everything back"


STEP_KINDS: dict[str, tuple[int, Callable[[World, int], None]]] = {
    "place": (40, place),
    "replace": (4, replace),
    "cancel": (8, cancel),
    "cancel all": (3, cancel_all),
    "set leverage": (3, leverage),
    "withdraw": (4, withdraw),
    "fault": (20, fault),
    "advance": (10, advance),
    "crash of the venue": (5, crash),
    "kill of the client": (5, kill),
    "interrupt": (3, interrupt),
    "resolve": (5, resolve),
    "revert": (1, revert),
}


# the end


def settle(world: World) -> None:
    """End all faults, let late requests arrive, and resolve everything in doubt."""
    world.down, world.moment = 0, ""
    world.venue.control.clear_faults()
    if world.chance.random() < 0.5:  # otherwise clients query before late requests have arrived
        world.venue.advance("2m")
    for number in (0, 1):
        world.restart(number)
        world.clients[number].resolve(resend=True)
    world.venue.advance("2m")
    for client in world.clients:
        client.resolve()  # a copy that is refused as expired says nothing of one that was taken before


def check(world: World) -> None:
    """Compare the clients' ledgers, their answers and the venue's history."""
    core = world.venue.host.core
    core.check()
    done: dict[tuple[str, int], Any] = {}
    for record in core.state.history.transactions.records:
        if record.nonce:
            key = (record.signer, record.nonce)
            assert key not in done, f"{key} counted twice"
            done[key] = record
    hashes = {record.hash for record in done.values()}
    assert world.answered <= hashes, f"answered and lost: {world.answered - hashes}"
    accepted = _accepted(world)
    known = set()
    world.ended = [world.ledger(number).all() for number in (0, 1)]
    for intents in world.ended:
        for intent in intents:
            known.add((intent.signer.lower(), intent.nonce))
            _check_intent(intent, done.get((intent.signer.lower(), intent.nonce)), accepted)
    assert set(done) <= known, f"no client sent these: {set(done) - known}"


def _accepted(world: World) -> Counter[tuple[str, int]]:
    """Count the orders that were accepted, by account and client id."""
    state = world.venue.host.core.state
    orders = [*state.history.orders.records, *(o for a in state.accounts.values() for o in a.orders.values())]
    return Counter(
        (order.address, order.client_id) for order in orders if order.client_id and order.status != OrderStatus.REJECTED
    )


def _check_intent(intent: Intent, record: Any, accepted: Counter[tuple[str, int]]) -> None:
    assert intent.settled, f"still in doubt: {intent}, venue: {record}"
    counts = [accepted[intent.account.lower(), client_id] for client_id in intent.client_ids]
    assert all(count <= 1 for count in counts), f"placed twice: {intent}"
    if record is None:
        assert intent.state is IntentState.REJECTED, f"accepted, and the venue knows nothing: {intent}"
        assert not any(counts), intent
    elif intent.client_ids:
        assert (intent.state is IntentState.ACCEPTED) == any(counts), f"{intent}, venue: {record}, {counts}"
    elif intent.action != "cancelOrder":
        assert (intent.state is IntentState.ACCEPTED) == (record.code == 0), f"{intent}, venue: {record}"


def play(seed: int, folder: Path) -> World:
    """Run the schedule of a seed. A failure carries the seed, which repeats it, and the steps up to there."""
    folder.mkdir()
    world = World(seed, folder)
    try:
        for _ in range(STEPS):
            world.step()
        settle(world)
        check(world)
        before = world.venue.control.state_hash()
        world.crash()
        assert world.venue.control.state_hash() == before, "the journal leads to another state"
    except BaseException as error:
        error.add_note(f"seed {seed} repeats this; what happened:\n" + "\n".join(world.story[-60:]))
        raise
    finally:
        for client in world.clients:
            client.close()
        world.venue.close()
    return world
