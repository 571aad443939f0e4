"""Client logic is written once, as generators that yield requests for I/O; two drivers answer them.

A flow yields `Fetch`, `Sleep`, `Now`, `RandomFloat` or `Gather` and is sent the answer, or thrown the error.
`Driver.run` runs a flow to its end in the calling thread, `AsyncDriver.run` awaits it. Flows know no
clock, no randomness and no sockets of their own, so tests drive them with lists.

`@flow` on a method of a class makes that method synchronous on its `Synchronous` subclass and a coroutine function on
its `Asynchronous` one: same name, same signature, same docstring.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import random as _random
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, get_origin, overload

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Fetch:
    """One HTTP request. `query` keeps its order; `timeout` (seconds) overrides the transport's own."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, whatever its status. Header names are lower-case. The answer to `Fetch`."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait this many seconds. Answered with None."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Now:
    """Answered with the time in Unix milliseconds."""


@dataclass(frozen=True, slots=True)
class RandomFloat:
    """Answered with a random number, 0 <= x < 1."""


@dataclass(frozen=True, slots=True)
class Gather:
    """Run several flows and answer with their results in order: together when asynchronous, else one by one."""

    flows: tuple[Flow[Any], ...]


Request = Fetch | Sleep | Now | RandomFloat | Gather
Flow = Generator[Request, Any, T]
"""A piece of client logic: yields requests, returns T."""


def wall_ms() -> int:
    """Return the machine's Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a driver takes from outside besides HTTP: clock (Unix ms) and randomness."""

    now: Callable[[], int] = wall_ms
    draw: Callable[[], float] = _random.random


class Driver:
    """Runs flows in the calling thread. `send` performs a Fetch; `sleep` takes seconds."""

    def __init__(
        self,
        send: Callable[[Fetch], Reply],
        runtime: Runtime | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._send = send
        self._around = runtime or Runtime()
        self._sleep = sleep

    def run(self, flow: Flow[T]) -> T:
        """Return what the flow returns; errors of requests, and interrupts, are thrown into it where it waits."""
        try:
            request = next(flow)
            while True:
                try:
                    answer = self._perform(request)
                except BaseException as error:
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
                return self._send(request)
            case Sleep():
                return self._sleep(request.seconds)
            case Now():
                return self._around.now()
            case RandomFloat():
                return self._around.draw()
            case Gather():
                return [self.run(flow) for flow in request.flows]


class AsyncDriver:
    """Runs flows on the running event loop. `send` and `sleep` are awaited."""

    def __init__(
        self,
        send: Callable[[Fetch], Awaitable[Reply]],
        runtime: Runtime | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._send = send
        self._around = runtime or Runtime()
        self._sleep = sleep

    async def run(self, flow: Flow[T]) -> T:
        """Return what the flow returns; errors, and cancellation, are thrown into it where it waits."""
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
                return await self._send(request)
            case Sleep():
                return await self._sleep(request.seconds)
            case Now():
                return self._around.now()
            case RandomFloat():
                return self._around.draw()
            case Gather():
                return list(await asyncio.gather(*(self.run(flow) for flow in request.flows)))


class Synchronous:
    """Marks a class whose flows run at once. `_driver` runs them."""

    _driver: Driver

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _bind_flows(cls, _synchronous)


class Asynchronous:
    """Marks a class whose flows are awaited. `_driver` runs them."""

    _driver: AsyncDriver

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _bind_flows(cls, _asynchronous)


class flow(Generic[P, T]):
    """A method written once as a generator; see the head of this module. `.generator` is the undecorated function."""

    def __init__(self, generator: Callable[Concatenate[Any, P], Flow[T]]) -> None:
        self.generator = generator
        functools.update_wrapper(self, generator)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: Synchronous, owner: Any = None) -> Callable[P, T]: ...

    @overload
    def __get__(self, instance: Asynchronous, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...

    @overload
    def __get__(self, instance: Any, owner: Any = None) -> Any: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return functools.partial(self.generator, instance)


def _bind_flows(cls: type, bind: Callable[[Callable[..., Flow[Any]]], Callable[..., Any]]) -> None:
    """Give `cls` a real function for every flow it has, so that help() and completion show what they should."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, flow):
            setattr(cls, name, bind(member.generator))


def _synchronous(generator: Callable[..., Flow[T]]) -> Callable[..., T]:
    @functools.wraps(generator)
    def call(self: Any, *args: Any, **keywords: Any) -> T:
        result: T = self._driver.run(generator(self, *args, **keywords))
        return result

    return _with_return_type(call, generator)


def _asynchronous(generator: Callable[..., Flow[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    @functools.wraps(generator)
    async def call(self: Any, *args: Any, **keywords: Any) -> T:
        result: T = await self._driver.run(generator(self, *args, **keywords))
        return result

    return _with_return_type(call, generator)


def _with_return_type(call: Callable[..., Any], generator: Callable[..., Any]) -> Callable[..., Any]:
    """Show `-> T` where the generator is annotated `-> Flow[T]`."""
    signature = inspect.signature(generator)
    shown = signature.return_annotation
    if isinstance(shown, str) and shown.startswith("Flow[") and shown.endswith("]"):
        shown = shown[len("Flow[") : -1]
    elif get_origin(shown) is Generator:
        shown = get_args(shown)[2]
    call.__signature__ = signature.replace(return_annotation=shown)  # type: ignore[attr-defined]
    call.__annotations__ = {**generator.__annotations__, "return": shown}
    return call


def subflow(method: Callable[P, Any], *args: P.args, **keywords: P.kwargs) -> Flow[Any]:
    """Return the flow behind a bound method made by `@flow`, for `yield from` inside another flow."""
    bound: Any = method
    return bound.__func__.__wrapped__(bound.__self__, *args, **keywords)  # type: ignore[no-any-return]


def together(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Run flows as one and return their results in order."""
    results: list[T] = yield Gather(tuple(flows))
    return results
