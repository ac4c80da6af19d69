"""The client for asyncio."""

from __future__ import annotations

import asyncio
import copy
import queue as queues
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .client import Client
from .connection import ATTEMPTS
from .limit import Limit, Stopped
from .status import Accepted, Output, Quote, Status, Verdict
from .submission import MAX_LINES, SubmitOptions
from .turn import AsyncTurn

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

#: How long a call that is canceled waits for its thread, which cancels the task of a `run`.
FAREWELL = 2.0


class AsyncClient:
    """A client of a Paihao server for asyncio, with the methods of Client.

    As the standard library has no HTTP client for asyncio, each call runs in a thread of its own while it lasts. Canceling
    the call closes its connection and ends the thread.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:3000",
        *,
        key: str | None = None,
        attempts: int = ATTEMPTS,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._client = Client(url, key=key, attempts=attempts, context=context)

    async def submit(
        self, queue: str, value: object, *, timeout: float | None = None, **options: Unpack[SubmitOptions]
    ) -> Accepted:
        """Puts a task into a queue: see Client.submit."""
        return await self._call(lambda client: client.submit(queue, value, timeout=timeout, **options))

    async def run(
        self,
        queue: str,
        value: object,
        *,
        on_update: Callable[[Status], object] | None = None,
        on_output: Callable[[Any], object] | None = None,
        timeout: float | None = None,
        detach: bool | None = None,
        **options: Unpack[SubmitOptions],
    ) -> Any:
        """Submits a task, follows it and returns its result: see Client.run. The functions are called in the event loop."""
        update, output = _in_loop(on_update), _in_loop(on_output)
        return await self._call(
            lambda client: client.run(
                queue, value, on_update=update, on_output=output, timeout=timeout, detach=detach, **options
            )
        )

    def turn(
        self,
        queue: str,
        value: object = None,
        *,
        on_update: Callable[[Status], object] | None = None,
        timeout: float | None = None,
        **options: Unpack[SubmitOptions],
    ) -> AbstractAsyncContextManager[AsyncTurn]:
        """Waits in line for a turn, which lasts as long as the `async with` block: see Client.turn. A cancel gives it up.

        The function is called in the event loop.
        """
        update, loop = _in_loop(on_update), asyncio.get_running_loop()

        def make(document: dict[str, Any]) -> AsyncTurn:
            return AsyncTurn(document, loop)

        return self._hold(lambda client: client._hold(make, queue, value, update, timeout, options))

    def watch(self, task: str | Accepted, *, timeout: float | None = None) -> AsyncIterator[Status]:
        """The states of a task to its end: see Client.watch."""
        return self._iterate(lambda client: client.watch(task, timeout=timeout))

    def outputs(self, task: str | Accepted, *, timeout: float | None = None) -> AsyncIterator[Output]:
        """What the handler of a task writes: see Client.outputs."""
        return self._iterate(lambda client: client.outputs(task, timeout=timeout))

    def output(self, task: str | Accepted, *, timeout: float | None = None) -> AsyncIterator[Any]:
        """Only the values of `outputs`."""
        return self._iterate(lambda client: client.output(task, timeout=timeout))

    async def result(self, task: str | Accepted, *, timeout: float | None = None) -> Any:
        """The result of a task, as soon as there is one: see Client.result."""
        return await self._call(lambda client: client.result(task, timeout=timeout))

    async def status(self, task: str | Accepted, *, timeout: float | None = None) -> Status:
        """The state of a task."""
        return await self._call(lambda client: client.status(task, timeout=timeout))

    async def cancel(self, task: str | Accepted, *, timeout: float | None = None) -> Status | None:
        """Cancels a task: see Client.cancel."""
        return await self._call(lambda client: client.cancel(task, timeout=timeout))

    async def quote(
        self, queue: str, value: object, *, timeout: float | None = None, **options: Unpack[SubmitOptions]
    ) -> Quote:
        """What place a submission would get."""
        return await self._call(lambda client: client.quote(queue, value, timeout=timeout, **options))

    async def queues(self, *, timeout: float | None = None) -> list[dict[str, Any]]:
        """All queues with their figures."""
        return await self._call(lambda client: client.queues(timeout=timeout))

    async def batch(
        self,
        queue: str,
        values: Iterable[object] | AsyncIterable[object],
        *,
        timeout: float | None = None,
        **options: Unpack[SubmitOptions],
    ) -> AsyncIterator[Verdict]:
        """Submits many inputs, in parts; yields a verdict for each, in order: see Client.batch. The time is that of a part."""
        done = 0
        async for part in _parts(values):
            verdicts = await self._call(lambda client: list(client.batch(queue, part, timeout=timeout, **options)))
            for verdict in verdicts:
                yield replace(verdict, line=done + verdict.line)
            done += len(part)

    @asynccontextmanager
    async def _hold(self, hold: Callable[[Client], AbstractContextManager[AsyncTurn]]) -> AsyncIterator[AsyncTurn]:
        """Holds a turn in a thread, while the block runs here."""
        #: Whether the block has ended, or has raised something.
        over: queues.SimpleQueue[bool] = queues.SimpleQueue()

        def held(client: Client) -> Iterator[AsyncTurn]:
            with hold(client) as turn:
                yield turn
                if not over.get():
                    raise Stopped()

        steps = self._iterate(held)
        try:
            yield await anext(steps)
            over.put(True)
            async for _ in steps:
                pass
        finally:
            over.put(False)
            await steps.aclose()

    async def _call(self, call: Callable[[Client], T]) -> T:
        """The result of a call, which runs in a thread."""
        results = [result async for result in self._iterate(lambda client: iter([call(client)]))]
        return results[0]

    async def _iterate(self, call: Callable[[Client], Iterator[T]]) -> AsyncGenerator[T, None]:
        """What an iterator yields in a thread."""
        loop, limit = asyncio.get_running_loop(), Limit()
        client = copy.copy(self._client)
        client._stop = limit
        items: asyncio.Queue[tuple[T] | BaseException | None] = asyncio.Queue()
        ended = asyncio.Event()

        def tell(callback: Callable[..., object], *args: object) -> None:
            try:
                loop.call_soon_threadsafe(callback, *args)
            except RuntimeError:
                pass  # The loop has been closed.

        def work() -> None:
            try:
                for item in call(client):
                    limit.check()
                    tell(items.put_nowait, (item,))
                tell(items.put_nowait, None)
            except BaseException as error:
                tell(items.put_nowait, error)
            tell(ended.set)

        # Not a pool, whose threads calls that wait for long would use up.
        threading.Thread(target=work, daemon=True).start()
        try:
            while (found := await items.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found[0]
        finally:
            if not ended.is_set():
                limit.stop(Stopped())
                try:
                    await asyncio.wait_for(ended.wait(), FAREWELL)
                except asyncio.TimeoutError:
                    pass


def _in_loop(function: Callable[[T], object] | None) -> Callable[[T], object] | None:
    if function is None:
        return None
    called, loop = function, asyncio.get_running_loop()
    return lambda value: loop.call_soon_threadsafe(called, value)


async def _parts(values: Iterable[object] | AsyncIterable[object]) -> AsyncIterator[list[object]]:
    part: list[object] = []
    if isinstance(values, AsyncIterable):
        async for value in values:
            part.append(value)
            if len(part) >= MAX_LINES:
                yield part
                part = []
    else:
        for value in values:
            part.append(value)
            if len(part) >= MAX_LINES:
                yield part
                part = []
    if part:
        yield part
