"""One of the places in which a worker runs a handler."""

from __future__ import annotations

import asyncio
import base64
import inspect
import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import PaihaoError
from .intents import GiveUp, RetryLater
from .keeper import Keeper
from .leases import Leases, is_lost
from .limit import Limit
from .response import BYTES, Response, to_json
from .task import AsyncTask, BaseTask, Task

log = logging.getLogger("paihao")

#: The pause after requests for tasks that got no answer, or no task sooner than they would have waited.
PAUSE = 2.0
QUICK = 0.5
#: The longest error that the server takes.
MAX_ERROR = 2000


@dataclass(frozen=True)
class Handler:
    """The code of a queue, and how it is called."""

    queue: str
    call: Callable[..., Any]
    #: The largest number of tasks of one call; None: one, which is not in a list.
    batch: int | None
    #: What a request for tasks has beside the name of the worker.
    wanted: dict[str, Any]


class Draining(Exception):
    """The worker takes no more tasks."""


class Slot(threading.Thread):
    """Takes tasks, runs the handler, and reports the ends, until it is drained."""

    def __init__(
        self, leases: Leases, handler: Handler, name: str, loop: Callable[[], asyncio.AbstractEventLoop]
    ) -> None:
        super().__init__(daemon=True, name=f"paihao-{name}")
        self._leases, self._handler, self._worker, self._loop = leases, handler, name, loop
        self._taking = Limit()
        self._tasks: Sequence[BaseTask] = ()
        #: Why the server gives it no tasks.
        self.failure: PaihaoError | None = None

    def drain(self) -> None:
        """Takes no more tasks; ends after those that it has."""
        self._taking.stop(Draining())

    def release(self, limit: Limit) -> None:
        """Gives the tasks that it has to other workers, without counting the attempt."""
        for task in self._tasks:
            task.cancel("shutdown")
            if task.settle():
                body = {"fence": task.fence, "after": 0, "error": "the worker was stopped"}
                self._say(task, "fail", to_json(body), limit)

    def run(self) -> None:
        """Until it is drained, or refused."""
        while True:
            began = time.monotonic()
            try:
                leased = self._take()
                # A server whose SYNC_LIMIT is 0, or a proxy, must not be asked all the time.
                if not leased and time.monotonic() - began < QUICK:
                    self._taking.sleep(PAUSE)
            except Draining:
                return
            except PaihaoError as error:
                self.failure = error
                return
            if leased:
                self._work(leased)

    def _take(self) -> list[dict[str, Any]]:
        """Raises Draining, and a PaihaoError that will not go away."""
        body = {"worker": self._worker, **self._handler.wanted}
        # The same for repeated requests, so that tasks whose answer was lost are had again.
        request_id = uuid.uuid4().hex
        while True:
            try:
                return self._leases.take(self._handler.queue, body, request_id, self._taking)
            except PaihaoError as error:
                if error.kind != "unreachable" and error.problem["status"] not in (429, 503):
                    raise
                log.warning("could not ask for tasks of %s, trying again: %s", self._handler.queue, error)
            self._taking.sleep(PAUSE)

    def _work(self, leased: Sequence[dict[str, Any]]) -> None:
        call = self._handler.call
        tasks: list[Any]
        if inspect.iscoroutinefunction(call):
            loop = self._loop()
            tasks = [AsyncTask(self._leases, document, loop) for document in leased]
        else:
            tasks = [Task(self._leases, document) for document in leased]
        self._tasks = tasks
        keeper = Keeper(self._leases, tasks)
        keeper.start()
        try:
            for task, end in zip(tasks, self._ends(tasks)):
                self._report(task, end)
        finally:
            keeper.stop()
            self._tasks = ()

    def _ends(self, tasks: list[Any]) -> Sequence[Any]:
        """For each task its result, or what was raised."""
        call, batch = self._handler.call, self._handler.batch
        try:
            inputs = [task.input for task in tasks]
            made = call(inputs, tasks) if batch is not None else call(inputs[0], tasks[0])
            if inspect.iscoroutine(made):
                made = asyncio.run_coroutine_threadsafe(made, self._loop()).result()
            results = list(made) if batch is not None else [made]
            if len(results) != len(tasks):
                raise ValueError(f"the handler returned {len(results)} results for {len(tasks)} tasks")
            return results
        except BaseException as error:
            if not isinstance(error, (GiveUp, RetryLater)):
                log.exception("the handler of %s failed: %s", self._handler.queue, ", ".join(task.id for task in tasks))
            return [error] * len(tasks)

    def _report(self, task: BaseTask, end: Any) -> None:
        """Reports the end of a task, unless that no longer counts."""
        try:
            task.flush()
        except PaihaoError as error:
            end = end if isinstance(end, BaseException) else error
        try:
            verb, body = _report_of(end)
        except (TypeError, ValueError) as error:
            log.exception("the result of %s is not JSON", task.id)
            verb, body = _report_of(error)
        if not task.settle():
            return
        refused = self._say(task, verb, to_json({"fence": task.fence, **body}), Limit())
        if refused is not None and verb == "complete":
            # Such as a result that is too large.
            _, body = _report_of(refused)
            self._say(task, "fail", to_json({"fence": task.fence, **body}), Limit())

    def _say(self, task: BaseTask, verb: str, body: str, limit: Limit) -> PaihaoError | None:
        """Reports an end; returns why it was refused."""
        try:
            verdict = self._leases.say(task.id, verb, body, limit)["verdict"]
            log.info("%s of %s: %s", task.id, task.queue, verdict)
        except (PaihaoError, TimeoutError) as error:
            log.warning("could not report the end of %s: %s", task.id, error)
            if isinstance(error, PaihaoError) and error.kind == "refused" and not is_lost(error):
                return error
        return None


def _report_of(end: Any) -> tuple[str, dict[str, Any]]:
    """How the end of a task is reported: verb and members. Raises for what is not JSON."""
    if isinstance(end, RetryLater):
        return "fail", {"after": end.seconds, "error": str(end)[:MAX_ERROR]}
    if isinstance(end, GiveUp):
        to_json(end.problem)
        return "fail", {"giveUp": end.problem, "error": str(end)[:MAX_ERROR]}
    if isinstance(end, BaseException):
        return "fail", {"error": f"{type(end).__name__}: {end}"[:MAX_ERROR]}
    if isinstance(end, (bytes, bytearray, memoryview)):
        end = Response(bytes(end), BYTES)
    if isinstance(end, Response):
        body = base64.b64encode(end.body).decode()
        return "complete", {"body": body, "contentType": end.type, "status": end.status}
    if end is None:
        return "complete", {}
    to_json(end)
    return "complete", {"result": end}
