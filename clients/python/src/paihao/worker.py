"""The worker."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from .call import Handler
from .connection import ATTEMPTS, Connection
from .leases import for_each
from .limit import Limit
from .slot import Slot
from .submission import named

log = logging.getLogger("paihao")

F = TypeVar("F", bound=Callable[..., Any])

#: How often the main thread looks whether it is to stop, and what the time means for the calls.
TICK = 0.1
#: How long a handler may go on after it was told to stop.
GRACE = 5.0
#: How long tasks may take to be given back.
RELEASE = 5.0


class Worker:
    """Does the work of queues, in threads: each slot runs one call of a handler at a time.

    `name`: what the server calls it; by default of the host and the process. `context`: of TLS. `grace`: how many seconds a
    handler may go on when `task.canceled` is set. A coroutine is then canceled. A thread cannot be ended: it is left behind, and
    another one takes its place, at most as often as the worker has slots.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:3000",
        *,
        key: str | None = None,
        name: str | None = None,
        context: ssl.SSLContext | None = None,
        grace: float = GRACE,
    ) -> None:
        self._connection = Connection(url, key, ATTEMPTS, context, is_patient=True)
        self._grace = grace
        self._name = re.sub(r"[^A-Za-z0-9._:-]", "-", name or f"{socket.gethostname()}-{os.getpid()}")[:100]
        self._handlers: list[tuple[Handler, int]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = threading.Lock()
        #: How often it has been told to stop.
        self._stops = 0

    def handler(
        self,
        queue: str,
        *,
        slots: int = 1,
        batch: int | None = None,
        batch_wait: float = 0.0,
        lease: float | None = None,
        timeout: float | None = None,
    ) -> Callable[[F], F]:
        """Makes a function the handler of a queue: `handler(input, task)`.

        `slots`: how many calls run at the same time. `batch`: up to so many tasks (at most 100) in one call,
        `handler(inputs, tasks)`, which returns a list with a result, or an exception, for each; `batch_wait`: how long a call
        waits for more tasks. `lease`: its length, by default that of the queue. `timeout`: how long a call may take; then the
        attempt has failed, whatever the handler returns.

        A coroutine runs in an event loop that all slots share. What it returns is the result of the task: a JSON value,
        bytes, a Response, or None for nothing. It raises GiveUp, RetryLater, or anything else for a failed attempt.
        """
        if slots < 1 or (batch is not None and not 1 <= batch <= 100):
            raise ValueError("slots must be at least 1, and batch from 1 to 100")
        if timeout is not None and not timeout > 0:
            raise ValueError("timeout must be more than 0")
        wanted: dict[str, Any] = {"count": batch or 1}
        if lease is not None:
            wanted["lease"] = lease
        if batch_wait > 0:
            wanted["fill"] = f"{batch_wait * 1000:.0f}ms"

        def register(call: F) -> F:
            self._handlers.append((Handler(named("queue", queue), call, batch, batch_wait, timeout, wanted), slots))
            return call

        return register

    def run(self, *, drain: float = 30.0) -> None:
        """Works until SIGTERM, SIGINT or `stop`; then it finishes the tasks that it has, and takes no more.

        When that takes longer than `drain`, or at a second signal, the tasks are given to other workers and `run` returns.
        Signals are only heard in the main thread. Raises PaihaoError if the server refuses to give it tasks, and RuntimeError
        if more handlers go on after their tasks are over than the worker has slots.
        """
        if not self._handlers:
            raise ValueError("the worker has no handler")
        every = [handler for handler, slots in self._handlers for _ in range(slots)]
        names = [self._name] if len(every) == 1 else [f"{self._name}:{n}" for n in range(1, len(every) + 1)]
        slots = [Slot(self._connection, handler, name, self._event_loop) for handler, name in zip(every, names)]
        main = threading.current_thread() is threading.main_thread()
        before = {number: signal.signal(number, self._hear) for number in _SIGNALS} if main else {}
        try:
            for slot in slots:
                slot.start()
            self._supervise(slots, drain)
        finally:
            for number, heard in before.items():
                signal.signal(number, heard)
            self._stops = 0

    def stop(self) -> None:
        """Ends `run`, like a signal; also from another thread."""
        self._stops += 1

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1

    def _supervise(self, slots: list[Slot], drain: float) -> None:
        """Until all slots have ended, or have been released. Raises why one has ended early."""
        left: list[Slot] = []
        failure: BaseException | None = None
        ends: float | None = None
        while any(slot.is_alive() for slot in slots):
            time.sleep(TICK)
            for n, slot in enumerate(slots):
                failure = failure or slot.failure
                call = slot.call
                if call is not None and call.look(self._grace):
                    left = [one for one in left if one.is_alive()] + [slot]
                    slots[n] = slot.successor()
                    slots[n].start()
                    log.warning("%s goes on after its task is over; another thread takes its place", slot.name)
            if len(left) > len(slots) and failure is None:
                why = "handlers go on after their tasks are over: only the end of the process ends them"
                failure = RuntimeError(f"{len(left)} {why}")
                log.error("%s", failure)
            if ends is None and (self._stops or failure):
                ends = time.monotonic() + drain
                log.info("stopping: finishing tasks for at most %g s", drain)
            if ends is not None:
                for slot in slots:
                    slot.drain()
                if self._stops > 1 or time.monotonic() >= ends:
                    limit = Limit(RELEASE)
                    calls = [slot.call for slot in slots]
                    for_each([call for call in calls if call is not None], lambda call: call.release(limit))
                    break
        for slot in slots:
            failure = failure or slot.failure
        if failure is not None:
            raise failure

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        with self._opening:
            if self._loop is None or self._loop.is_closed():
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run_loop, args=(self._loop,), daemon=True, name="paihao-loop").start()
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException:
            # A handler raised SystemExit: it is reported as its end, and the others go on.
            log.exception("a coroutine stopped the event loop, which goes on")


_SIGNALS = (signal.SIGTERM, signal.SIGINT)
