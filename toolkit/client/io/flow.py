"""Flows: client logic without I/O, written once for synchronous and asynchronous callers.

A flow is a generator. It yields what it needs from outside (`Fetch`, `Sleep`, `Settle`, `Now`, `Elapsed`,
`RandomFloat`, `Perform`, `Gather`) and is resumed with the result, or with the error raised at that `yield`.
`Driver.run` performs the requests in the calling thread, `AsyncDriver.run` awaits them. Flows hold no clock, no
randomness and no socket, so tests drive them with plain functions.

`@flow` turns a generator method into a plain method on a `Synchronous` subclass and into a coroutine function on an
`Asynchronous` one, with the same name, signature and docstring:

>>> class Clock:
...     @flow
...     def seconds(self) -> Flow[float]:
...         "Return the time in Unix seconds."
...         time_ms: int = yield Now()
...         return time_ms / 1000
>>> class SyncClock(Clock, Synchronous):
...     _driver = Driver(send=lambda fetch: Reply(200, b""), runtime=Runtime(now=lambda: 1_500))
>>> SyncClock().seconds()
1.5

Inside another flow, call a flow method with `yield from subflow(self.seconds)`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import random
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, get_args, get_origin, overload

from ...errors import InputError, NotSent, RateLimited, ToolkitError
from ...guards import checked, flags_of, key_argument, parameter_names, refusal
from ...secrecy import Secret
from ...suggestions import Suggesting, advised
from ...tracebacks import trim

EXIT_QUEUE = 0.5
"""Longest wait of an exit's request behind others of this client, in seconds."""

T = TypeVar("T")
P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)
Twin = TypeVar("Twin", covariant=True)
Awaited = Callable[P, Coroutine[Any, Any, T]]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Request: send this over HTTP. The result is a `Reply`.

    Parameters
    ----------
    method : str
        HTTP method, such as "GET".
    path : str
        Path of the address.
    query : tuple of tuple of str and str, optional
        Pairs of name and value, which keep their order (default: none).
    body : bytes, optional
        Body of the request (default: none).
    timeout : float, optional
        Seconds without an answer, in place of the transport's (default: the transport's).
    within : float, optional
        Seconds after which the answer must be whole (default: no bound).
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout: float | None = None
    headers: Mapping[str, str | Secret] = field(default_factory=dict, repr=False)
    """Further headers. A token is given as a Secret. Errors then have no traceback frames that hold it."""
    within: float | None = None
    limited_as: str = ""
    """Whose limit of requests counts it besides the venue's, such as account and action."""
    urgent: bool = False
    """Whether it is part of an exit, which has its own share of requests while the venue asks to wait."""
    patience: float = float("inf")
    """Longest wait for its turn in seconds. RateLimited is raised for a longer one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of `Fetch`: an HTTP response of any status.

    Parameters
    ----------
    status : int
        Status of the response.
    body : bytes
        Body of the response, decompressed.
    headers : mapping, optional
        Headers, by lower-case names (default: none).
    wait : float, optional
        Seconds until a further request of this kind may leave, of an answer that asks to wait (default: None).
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Request: wait. The result is None.

    Parameters
    ----------
    seconds : float
        How long, in seconds.
    queued : bool, optional
        Whether it is for this client's own turn. No bound counts it then (default: False).
    """

    seconds: float
    queued: bool = False


@dataclass(frozen=True, slots=True)
class Settle:
    """Request: wait for the venue to execute what it was sent. The result is None.

    With a manual clock the venue's time is moved until the command has been executed.

    Parameters
    ----------
    seconds : float
        How long, in seconds.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Now:
    """Request: the current time. The result is an int in Unix milliseconds."""


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Request: the time on a clock that only goes forward, for durations. The result is an int in milliseconds."""


@dataclass(frozen=True, slots=True)
class RandomFloat:
    """Request: a random number. The result is a float, 0 <= x < 1."""


@dataclass(frozen=True, slots=True)
class Perform:
    """Request: do what only exists in a blocking and an awaited form. The result is what it returns.

    Parameters
    ----------
    blocking : callable
        Function that does it.
    awaited : callable
        Coroutine function that does it.
    """

    blocking: Callable[[], Any]
    awaited: Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Gather:
    """Request: run several flows, concurrently when asynchronous, else in turn. The result lists theirs in order.

    Parameters
    ----------
    flows : tuple of flow
        Flows to run. The result lists theirs in this order.
    """

    flows: tuple[Flow[Any], ...]


Request = Fetch | Sleep | Settle | Now | Elapsed | RandomFloat | Perform | Gather
Flow = Generator[Request, Any, T]
"""A generator that yields requests and returns T."""


def wall_ms() -> int:
    """Return the machine's Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return milliseconds on a clock that is never set."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Runtime:
    """The clocks and the random numbers of a driver.

    Parameters
    ----------
    now : callable, optional
        Function that returns Unix ms, for nonces and expiry (default: `wall_ms`).
    random_float : callable, optional
        Function that returns 0 <= x < 1 (default: `random.random`).
    elapsed : callable, optional
        Function that returns ms on a clock that is never set, for rates and deadlines (default: `monotonic_ms`).
    pause : callable, optional
        Function that waits for a number of seconds of `elapsed` (default: `time.sleep`).
    observe : callable, optional
        Function that takes the headers of every answer, and the value of `elapsed` when its request was sent (default:
        does nothing).
    """

    now: Callable[[], int] = wall_ms
    random_float: Callable[[], float] = random.random
    elapsed: Callable[[], int] = monotonic_ms
    pause: Callable[[float], None] = time.sleep
    observe: Callable[[Mapping[str, str], int], None] = lambda headers, sent_ms: None


class Turns(Protocol):
    """When requests may leave. See `rate_limits.VenueGate`."""

    def turn(self, fetch: Fetch) -> Flow[None]:
        """Wait until a request may leave.

        Parameters
        ----------
        fetch : Fetch
            Request to send.
        """

    def answered(self, fetch: Fetch, reply: Reply, sent_ms: int, runtime: Runtime) -> Reply:
        """Take an answer, and return it with the wait that it asks for.

        Parameters
        ----------
        fetch : Fetch
            Request that was sent.
        reply : Reply
            Its answer.
        sent_ms : int
            When it was sent, in ms on a clock that is never set.
        runtime : Runtime
            Clocks and random numbers.
        """


class Driver:
    """Runs flows in the calling thread.

    Parameters
    ----------
    send : callable
        Function that performs a `Fetch`.
    runtime : Runtime, optional
        Clocks and random numbers (default: this machine's).
    sleep : callable, optional
        Function that waits for a number of seconds (default: `time.sleep`).
    settle : callable, optional
        Function that waits for the venue in place of `sleep` (default: `sleep`).
    gate : Turns, optional
        When requests may leave (default: at any time).
    """

    def __init__(
        self,
        send: Callable[[Fetch], Reply],
        runtime: Runtime | None = None,
        sleep: Callable[[float], None] = time.sleep,
        settle: Callable[[float], None] | None = None,
        gate: Turns | None = None,
    ) -> None:
        self._send = send
        self._runtime = runtime or Runtime()
        self._sleep = sleep
        self._settle = settle
        self._gate = gate

    def run(self, flow: Flow[T]) -> T:
        """Run a flow and return its result. Errors of a request are raised inside the flow, at its `yield`.

        Parameters
        ----------
        flow : flow
            Generator that yields requests.
        """
        try:
            request = next(flow)
            while True:
                try:
                    answer = self._perform(request)
                except BaseException as error:
                    # KeyboardInterrupt too: an order's flow must record that its outcome is unknown before it ends.
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            flow.close()

    def _perform(self, request: Request) -> Any:
        match request:
            case Fetch():
                if self._gate is not None:
                    self.run(self._gate.turn(request))
                sent_ms, reply = self._runtime.elapsed(), self._send(request)
                self._runtime.observe(reply.headers, sent_ms)
                return reply if self._gate is None else self._gate.answered(request, reply, sent_ms, self._runtime)
            case Sleep():
                return self._sleep(request.seconds)
            case Settle():
                return (self._settle or self._sleep)(request.seconds)
            case Now():
                return self._runtime.now()
            case Elapsed():
                return self._runtime.elapsed()
            case RandomFloat():
                return self._runtime.random_float()
            case Perform():
                return request.blocking()
            case Gather():
                return [self.run(flow) for flow in request.flows]


class AsyncDriver:
    """Runs flows on the running event loop.

    Parameters
    ----------
    send : callable
        Coroutine function that performs a `Fetch`.
    runtime : Runtime, optional
        Clocks and random numbers (default: this machine's).
    sleep : callable, optional
        Coroutine function that waits for a number of seconds (default: `asyncio.sleep`).
    settle : callable, optional
        Coroutine function that waits for the venue in place of `sleep` (default: `sleep`).
    gate : Turns, optional
        When requests may leave (default: at any time).
    """

    def __init__(
        self,
        send: Callable[[Fetch], Awaitable[Reply]],
        runtime: Runtime | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        settle: Callable[[float], Awaitable[None]] | None = None,
        gate: Turns | None = None,
    ) -> None:
        self._send = send
        self._runtime = runtime or Runtime()
        self._sleep = sleep
        self._settle = settle
        self._gate = gate

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow and return its result. Errors and cancellation are raised inside the flow, at its `yield`.

        Parameters
        ----------
        flow : flow
            Generator that yields requests.
        """
        try:
            request = next(flow)
            while True:
                try:
                    answer = await self._perform(request)
                except BaseException as error:
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            flow.close()

    async def _perform(self, request: Request) -> Any:
        match request:
            case Fetch():
                if self._gate is not None:
                    await self.run(self._gate.turn(request))
                sent_ms, reply = self._runtime.elapsed(), await self._send(request)
                self._runtime.observe(reply.headers, sent_ms)
                return reply if self._gate is None else self._gate.answered(request, reply, sent_ms, self._runtime)
            case Sleep():
                return await self._sleep(request.seconds)
            case Settle():
                return await (self._settle or self._sleep)(request.seconds)
            case Now():
                return self._runtime.now()
            case Elapsed():
                return self._runtime.elapsed()
            case RandomFloat():
                return self._runtime.random_float()
            case Perform():
                return await request.awaited()
            case Gather():
                return list(await asyncio.gather(*(self.run(flow) for flow in request.flows)))


class Synchronous:
    """Base of classes whose `@flow` methods are plain methods, run by `_driver`."""

    _driver: Driver

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        _bind_flows(cls, _synchronous)


class Asynchronous:
    """Base of classes whose `@flow` methods are coroutine functions, run by `_driver`."""

    _driver: AsyncDriver

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        _bind_flows(cls, _asynchronous)


class HasTwin(Generic[Twin]):
    """Base of results that have methods, such as receipts. An awaited call returns a `Twin`."""


class Delivering(Protocol):
    """An object that sends orders."""

    _delivery: Any


def bounded(generator: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], Flow[T]]:
    """Decorate a flow of an object with a `_delivery`: its requests take twice the policy's `total` at most.

    Parameters
    ----------
    generator : callable
        The method, a generator function.
    """

    @functools.wraps(generator)
    def call(self: Delivering, /, *args: P.args, **keywords: P.kwargs) -> Flow[T]:
        return within(generator(self, *args, **keywords), 2 * self._delivery.retry.total)

    return call


def _as_exit(generator: Callable[..., Flow[T]]) -> Callable[..., Flow[T]]:
    return lambda *args, **keywords: urgently(generator(*args, **keywords))


TYPE_CHECKING = False
"""True for type checkers. Jedi, which completes names in notebooks, sees False."""

if TYPE_CHECKING:

    class FlowMethod(Generic[P, Result]):
        generator: Callable[..., Flow[Result]]

        @overload
        def __get__(
            self: FlowMethod[P, HasTwin[Twin]], instance: Asynchronous, owner: object = None
        ) -> Awaited[P, Twin]: ...

        @overload
        def __get__(self, instance: Asynchronous, owner: object = None) -> Awaited[P, Result]: ...

        @overload
        def __get__(self, instance: Synchronous, owner: object = None) -> Callable[P, Result]: ...

        @overload
        def __get__(self, instance: object, owner: object = None) -> Any: ...

        def __get__(self, instance: object, owner: object = None) -> Any: ...

    def flow(generator: Callable[Concatenate[Any, P], Flow[T]]) -> FlowMethod[P, T]: ...
    def trading_flow(generator: Callable[Concatenate[Any, P], Flow[T]]) -> FlowMethod[P, T]: ...
    def exit_flow(generator: Callable[Concatenate[Any, P], Flow[T]]) -> FlowMethod[P, T]: ...

else:
    # Without annotations Jedi follows the calls. It then shows a method as its callers see it: without `self`, and with
    # its result, which is awaited on an asynchronous instance. `__get__` is there for Jedi alone, because at run time
    # `_bind_flows` has put a function in its place.

    class FlowMethod:
        """A method that is written as a flow. See the module.

        Parameters
        ----------
        written : callable
            The undecorated function, a generator function.
        wrap : callable, optional
            Function that returns what is run in its place (default: the function itself is run).
        """

        def __init__(self, written, wrap=None):
            self.written = written
            self.generator = written if wrap is None else wrap(written)
            # Errors of arguments name a function by this. The class that it is mixed in from says nothing.
            written.__qualname__ = self.generator.__qualname__ = written.__name__
            functools.update_wrapper(self, written)

        def __get__(self, instance, owner=None):
            written = self.written

            @functools.wraps(written)
            def call(*args, **keywords):
                return instance._driver.run(written(instance, *args, **keywords))

            return self if instance is None else call

    def flow(generator):
        """Decorate a method that is written as a flow. See the module.

        Parameters
        ----------
        generator : callable
            The method, a generator function.
        """
        return FlowMethod(generator)

    def trading_flow(generator):
        """Decorate a method as `flow` does. Its call ends in bounded time.

        Parameters
        ----------
        generator : callable
            The method, a generator function.
        """
        return FlowMethod(generator, bounded)

    def exit_flow(generator):
        """Decorate a method that cancels or closes. Its call is bounded, and never waits behind other requests.

        Parameters
        ----------
        generator : callable
            The method, a generator function.
        """
        return FlowMethod(generator, lambda written: bounded(functools.wraps(written)(_as_exit(written))))


def _bind_flows(cls: type, bind: Callable[[Callable[..., Flow[Any]]], Callable[..., Any]]) -> None:
    """Replace every `@flow` of a class by a real function, so that help() and completion show its signature."""
    for name in dir(cls):
        member: Any = inspect.getattr_static(cls, name)
        # A base may have bound it already: the same way, or synchronously, as those of Receipt for AsyncReceipt.
        method, bound = getattr(member, "flow_method", (member, None))
        if isinstance(method, FlowMethod) and bound is not bind:
            call: Any = bind(method.generator)
            call.flow_method = method, bind
            setattr(cls, name, call)


def _synchronous(generator: Callable[..., Flow[T]]) -> Callable[..., T]:
    names, flags = parameter_names(generator), flags_of(generator)

    @functools.wraps(generator)
    def call(self: Synchronous, *args: object, **keywords: object) -> T:
        try:
            if name := key_argument(names, args, keywords):
                del args, keywords  # a traceback that shows local variables must not show the key
                raise InputError(refusal(generator.__name__, name), field=name, rule="no key")
            args = checked(generator.__name__, flags, names, args, keywords)
            try:
                made = generator(self, *args, **keywords)
            except TypeError as error:
                raise advised(error, generator) from None
            result: T = self._driver.run(made)
        except ToolkitError as error:
            trim(error)
            raise
        return result

    return _with_return_type(call, generator)


def _asynchronous(generator: Callable[..., Flow[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    names, flags = parameter_names(generator), flags_of(generator)

    @functools.wraps(generator)
    async def call(self: Asynchronous, *args: object, **keywords: object) -> T:
        try:
            if name := key_argument(names, args, keywords):
                del args, keywords
                raise InputError(refusal(generator.__name__, name), field=name, rule="no key")
            args = checked(generator.__name__, flags, names, args, keywords)
            try:
                made = generator(self, *args, **keywords)
            except TypeError as error:
                raise advised(error, generator) from None
            result: T = await self._driver.run(made)
        except ToolkitError as error:
            trim(error)
            raise
        return result

    # A receipt has methods too, so an awaited call returns the twin with methods to await.
    return _with_return_type(call, generator, {"Receipt": "AsyncReceipt"})


def _with_return_type(
    call: Callable[..., Any], generator: Callable[..., Any], twins: Mapping[str, str] | None = None
) -> Callable[..., Any]:
    """Give `call` the return annotation T of a generator annotated `-> Flow[T]`, with the twin of each type."""
    signature = inspect.signature(generator)
    returned = signature.return_annotation
    if isinstance(returned, str) and returned.startswith("Flow[") and returned.endswith("]"):
        returned = returned[len("Flow[") : -1]
    elif get_origin(returned) is Generator:
        returned = get_args(returned)[2]
    for name, twin in (twins or {}).items():
        returned = re.sub(rf"\b{name}\b", twin, returned) if isinstance(returned, str) else returned
    call.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
    call.__annotations__ = {**generator.__annotations__, "return": returned}
    return call


def subflow(method: Callable[P, Any], *args: P.args, **keywords: P.kwargs) -> Flow[Any]:
    """Return the flow behind a bound `@flow` method, for `yield from` inside another flow.

    Parameters
    ----------
    method : callable
        A bound `@flow` method.
    *args : args
        Its positional arguments.
    **keywords : kwargs
        Its arguments by keyword.
    """
    bound: Any = method
    return bound.__func__.__wrapped__(bound.__self__, *args, **keywords)  # type: ignore[no-any-return]


def together(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Run several flows with `Gather` and return their results in order.

    Parameters
    ----------
    flows : sequence of flow
        Flows to run. The result has theirs in this order.
    """
    results: list[T] = yield Gather(tuple(flows))
    return results


def _relayed(flow: Flow[T], change: Callable[[Request], Request]) -> Flow[T]:
    """Run a flow with changed requests. What `change` raises, it raises inside the flow."""
    try:
        request = next(flow)
        while True:
            try:
                answer = yield change(request)
            except GeneratorExit:
                raise
            except BaseException as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


def urgently(flow: Flow[T]) -> Flow[T]:
    """Run a flow whose requests are part of an exit: queries of other calls never hold them up.

    Parameters
    ----------
    flow : flow
        Generator that yields requests.
    """

    def change(request: Request) -> Request:
        match request:
            case Fetch():
                return replace(request, urgent=True)
            case Sleep(queued=True):
                return replace(request, seconds=min(request.seconds, EXIT_QUEUE))
            case Gather():
                return Gather(tuple(urgently(each) for each in request.flows))
        return request

    return _relayed(flow, change)


def hastily(flow: Flow[T], seconds: float) -> Flow[T]:
    """Run a flow that sends an order which is priced by the moment: it waits no longer than that to send it.

    RateLimited is raised inside it in place of a longer wait. What follows the first POST is not bounded here.

    Parameters
    ----------
    flow : flow
        Generator that yields requests.
    seconds : float
        Longest wait for the venue or for this client's own turn, in seconds.
    """
    waited, posted = 0.0, False

    def change(request: Request) -> Request:
        nonlocal waited, posted
        if isinstance(request, Sleep) and not posted:
            waited += request.seconds
            if waited > seconds:
                said = f"the order was not sent: it would wait {waited:.1f} s, and its price is of this moment"
                raise RateLimited(said, retry_after=request.seconds, sent=False)
        elif isinstance(request, Fetch) and not posted:
            posted = request.method == "POST"
            return replace(request, patience=min(request.patience, seconds - waited))
        return request

    return _relayed(flow, change)


def within(flow: Flow[T], seconds: float, confirm: float | None = None) -> Flow[T]:
    """Run a flow in bounded time. After that it sends nothing more and waits no longer.

    Further requests raise NotSent inside it, so that it ends as if the network were gone. The time in which a person
    answers a question between its requests does not count.

    Parameters
    ----------
    flow : flow
        Generator that yields requests.
    seconds : float
        Longest time of its requests in total, in seconds.
    confirm : float, optional
        Longest time after the answer to a signed request, in seconds (default: none of its own).
    """
    spent_ms, since_ms = 0, None
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Fetch | Sleep | Settle | Gather):
                    began_ms: int = yield Elapsed()
                    spent_ms += 0 if since_ms is None else began_ms - since_ms
                    since_ms = None if isinstance(request, Sleep) and request.queued else began_ms
                    answer = yield _cut(request, seconds - spent_ms / 1000)
                    ended_ms: int = yield Elapsed()
                    spent_ms, since_ms = spent_ms + (0 if since_ms is None else ended_ms - began_ms), None
                    if confirm is not None and isinstance(request, Fetch) and request.method == "POST":
                        seconds = min(seconds, spent_ms / 1000 + confirm)
                else:
                    answer = yield request
            except GeneratorExit:
                raise
            except BaseException as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


def _cut(request: Request, left: float) -> Request:
    """Return a request that takes no longer than is left. Raises NotSent for what can't be sent any more."""
    match request:
        case Fetch() if left <= 0:
            raise NotSent(f"{request.method} {request.path} was not sent: the time for this call is over")
        case Fetch():
            return replace(request, within=left if request.within is None else min(left, request.within))
        case Sleep(queued=False) | Settle():
            return replace(request, seconds=min(request.seconds, max(0.0, left)))
        case Gather():
            return Gather(tuple(within(each, left) for each in request.flows))
    return request


class SessionPart(Suggesting):
    """Base of the groups: it has what their methods use of the session, synchronous or asynchronous.

    Parameters
    ----------
    session : object
        The session.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._driver: Any = session._driver
        self._delivery: Any = session._delivery
        self._account: Any = session._account

    @property
    def _reader(self) -> Any:
        return self._session._reader

    def __repr__(self) -> str:
        methods = ", ".join(name for name in dir(self) if not name.startswith("_"))
        return f"<{type(self).__name__} on {self._session.environment.name}: {methods}>"
