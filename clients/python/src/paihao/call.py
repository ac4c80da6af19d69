"""One call of a handler."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from .ends import TimedOut, refusal_of, report_of
from .intents import GiveUp, RetryLater
from .lease_renewer import LeaseRenewer
from .leases import Lease, for_each
from .limit import Limit
from .task import AsyncTask, BaseTask, Task

log = logging.getLogger("paihao")


@dataclass(frozen=True)
class Handler:
    """The code of a queue, and how it is called."""

    queue: str
    call: Callable[..., Any]
    #: The largest number of tasks of one call; None: one, which is not in a list.
    batch: int | None
    #: How long a call waits for more tasks.
    batch_wait: float
    #: How long a call may take; None: any time.
    timeout: float | None
    #: What a request for tasks has beside the name of the worker.
    wanted: dict[str, Any]


class Call:
    """Runs the handler for tasks, and reports their ends. Another thread looks after it, and may report them instead."""

    def __init__(self, handler: Handler, leases: Sequence[Lease], loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._handler, self._leases, self._loop = handler, leases, loop
        self._tasks: list[BaseTask] = (
            [AsyncTask(lease, loop()) for lease in leases]
            if inspect.iscoroutinefunction(handler.call)
            else [Task(lease) for lease in leases]
        )
        self._renewer = LeaseRenewer(leases)
        #: Held by the thread that reports the ends.
        self._reporting = threading.Lock()
        self._began = time.monotonic()
        self._is_timed_out = False
        #: Since when the handler is to stop, and whether its coroutine has been canceled since.
        self._stopping: float | None = None
        self._is_canceled = False
        self._coroutine: asyncio.Task[Any] | None = None

    def run(self) -> bool:
        """Returns whether the handler ended in time; if not, it has been left behind."""
        ends = self._ends()
        if not self._reporting.acquire(blocking=False):
            log.warning("a handler of %s has ended after its task", self._handler.queue)
            return False
        timed_out = self._timed_out()
        if timed_out is not None:
            ends = [timed_out] * len(ends)
        try:
            for_each(list(zip(self._leases, self._tasks, ends)), lambda one: _report(*one))
        finally:
            self._renewer.stop()
        return True

    def look(self, grace: float) -> bool:
        """Tells the handler that it is to stop. Returns True if it goes on all the same, and the tasks are left to the caller.

        It may go on for so many seconds, and a coroutine for as many after it was canceled.
        """
        if self._reporting.locked():
            return False
        now = time.monotonic()
        self._is_timed_out = self._handler.timeout is not None and now >= self._began + self._handler.timeout
        for lease, task in zip(self._leases, self._tasks):
            # The server may be out of reach.
            if now >= lease.valid_until:
                lease.lost = True
            reason = "timeout" if self._is_timed_out else "lost" if lease.lost else lease.reason
            if reason is not None:
                task.cancel(reason)
        # The others of a call go on.
        if any(task.canceled.reason is None for task in self._tasks):
            return False
        if self._stopping is None:
            self._stopping = now
        if now < self._stopping + grace:
            return False
        if self._coroutine is not None and not self._is_canceled:
            self._coroutine.get_loop().call_soon_threadsafe(self._coroutine.cancel)
            self._stopping, self._is_canceled = now, True
            return False
        return self._reporting.acquire(blocking=False)

    def abandon(self) -> None:
        """Reports the tasks of a handler that goes on all the same."""
        reasons = ", ".join({str(task.canceled.reason) for task in self._tasks})
        ignored = TimeoutError(f"the handler did not stop when it was asked to: {reasons}")
        for_each(self._leases, lambda lease: _tell(lease, self._timed_out() or ignored))
        self._renewer.stop()

    def release(self, limit: Limit) -> None:
        """Gives the tasks to other workers, without counting the attempt."""
        for task in self._tasks:
            task.cancel("shutdown")
        if self._reporting.acquire(blocking=False):
            stopped = RetryLater(0, "the worker was stopped")
            for_each(self._leases, lambda lease: _tell(lease, stopped, limit))
            self._renewer.stop()

    def _timed_out(self) -> TimedOut | None:
        return TimedOut(self._handler.timeout) if self._is_timed_out and self._handler.timeout else None

    def _ends(self) -> Sequence[Any]:
        """For each task its result, or what was raised."""
        handler, tasks = self._handler, self._tasks
        try:
            self._renewer.start()
            inputs = [task.input for task in tasks]
            made = handler.call(inputs, tasks) if handler.batch is not None else handler.call(inputs[0], tasks[0])
            if inspect.iscoroutine(made):
                made = asyncio.run_coroutine_threadsafe(self._await(made), self._loop()).result()
            # It may be endless.
            results = list(itertools.islice(made, len(tasks) + 1)) if handler.batch is not None else [made]
            if len(results) != len(tasks):
                raise ValueError(f"the handler returned {len(results)} results for {len(tasks)} tasks")
            return results
        except BaseException as error:
            # Also SystemExit, which would end this thread and nothing else.
            if not isinstance(error, (GiveUp, RetryLater)):
                log.exception("the handler of %s failed: %s", handler.queue, ", ".join(task.id for task in tasks))
            return [error] * len(tasks)

    async def _await(self, made: Coroutine[Any, Any, Any]) -> Any:
        self._coroutine = asyncio.current_task()
        # The loop may have been blocked until the tasks were over.
        if self._reporting.locked():
            made.close()
            return None
        return await made


def _report(lease: Lease, task: BaseTask, end: Any) -> None:
    """Reports the end of a task after what it has written."""
    try:
        task.flush()
    except Exception as error:
        end = end if isinstance(end, BaseException) else error
    _tell(lease, end)


def _tell(lease: Lease, end: Any, limit: Limit | None = None) -> None:
    """Reports the end of a task, unless that no longer counts."""
    limit = limit or Limit()
    try:
        refused = lease.end(*report_of(end), limit)
        if refused is not None:
            lease.end("fail", refusal_of(refused), limit)
    except TimeoutError:
        log.warning("could not give %s back in time", lease.id)
    finally:
        lease.over = True
