"""The client."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .cancel import abandon, cancel
from .connection import ATTEMPTS, Answer, Connection, Request
from .errors import PaihaoError, error_of, own_problem
from .follow import Following, Target, target_of
from .limit import Limit, Stopped
from .response import decode, to_json
from .status import Accepted, Output, Quote, Status, Verdict, output_of, quote_of, status_of
from .submission import SubmitOptions, line_of, new_id, parts_of, request_of, submit, submit_part
from .turn import BaseTurn, Turn
from .turn_keeper import TurnKeeper

if TYPE_CHECKING:
    from typing_extensions import Unpack

AnyTurn = TypeVar("AnyTurn", bound=BaseTurn)

#: What is assumed where a proxy has removed the header that says it: no presence is shorter.
SHORTEST_PRESENCE = 5.0


class Client:
    """A client of a Paihao server. Any number of threads may use it.

    `attempts`: how often a request is tried, 8 times over about half a minute. `context`: of TLS.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:3000",
        *,
        key: str | None = None,
        attempts: int = ATTEMPTS,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._connection = Connection(url, key, attempts, context)
        #: What stops the one call of a copy: see AsyncClient.
        self._stop: Limit | None = None

    def submit(
        self, queue: str, value: object, *, timeout: float | None = None, **options: Unpack[SubmitOptions]
    ) -> Accepted:
        """Puts a task into a queue. Its id is chosen before it is sent, so that it runs once however often it is sent.

        Raises PaihaoError; TimeoutError; TypeError and ValueError for what cannot be sent.
        """
        return submit(self._connection, queue, value, options, new_id(), self._limit(timeout))

    def run(
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
        """Submits a task, follows it and returns its result.

        A timeout or a KeyboardInterrupt cancels the task if it has not ended; not with `detach`, nor with an idempotency key,
        as others may wait for the same task, unless `detach` is False.

        Raises TaskFailed, TaskCanceled, TaskExpired and other PaihaoErrors; TimeoutError.
        """
        limit = self._limit(timeout)
        fresh = new_id()
        shared = "idempotency_key" in options
        id = None if shared else options.get("id", fresh)
        try:
            task = submit(self._connection, queue, value, options, fresh, limit)
            id = task.id
            return self._follow(self._target(task), limit, on_update, on_output)
        except (TimeoutError, KeyboardInterrupt, Stopped):
            if id is not None and not (shared if detach is None else detach):
                abandon(self._target(id))
            raise

    def turn(
        self,
        queue: str,
        value: object = None,
        *,
        on_update: Callable[[Status], object] | None = None,
        timeout: float | None = None,
        **options: Unpack[SubmitOptions],
    ) -> AbstractContextManager[Turn]:
        """Waits in line for a turn, which lasts as long as the `with` block, and is kept meanwhile.

        A block that raises gives it up. Where it is over before the block is, `turn.lost` is set, and the end of the block
        raises why. The timeout is for the wait; after it, and whatever else is raised meanwhile, the line is left.

        Raises TaskCanceled, TaskFailed and other PaihaoErrors; TimeoutError; ValueError for a queue that has no turns.
        """
        return self._hold(Turn, queue, value, on_update, timeout, options)

    def watch(self, task: str | Accepted, *, timeout: float | None = None) -> Iterator[Status]:
        """The states of a task from the current one to its end, one after each change. Raises PaihaoError; TimeoutError."""
        for name, data in Following(self._target(task), self._limit(timeout)):
            if name != "output":
                yield status_of(data)

    def outputs(self, task: str | Accepted, *, timeout: float | None = None) -> Iterator[Output]:
        """What the handler of a task writes, from the beginning to the end. Raises PaihaoError; TimeoutError."""
        target, limit = self._target(task), self._limit(timeout)
        none = True
        for name, data in Following(target, limit, output=True):
            if name == "output":
                none = False
                yield output_of(data)
        if none:
            # A canceled or expired task has no output, which is an error.
            target.connection.send(target.to("/output"), Request(), Answer.read, limit)

    def output(self, task: str | Accepted, *, timeout: float | None = None) -> Iterator[Any]:
        """Only the values of `outputs`."""
        for output in self.outputs(task, timeout=timeout):
            yield output.data

    def result(self, task: str | Accepted, *, timeout: float | None = None) -> Any:
        """The result of a task, as soon as there is one: JSON as its value, bytes, None, or a Response for another media type.

        Raises TaskFailed, TaskCanceled, TaskExpired, TaskUnknown and other PaihaoErrors; TimeoutError.
        """
        return self._collect(self._target(task), self._limit(timeout))

    def status(self, task: str | Accepted, *, timeout: float | None = None) -> Status:
        """The state of a task. Raises TaskUnknown, TaskExpired and other PaihaoErrors; TimeoutError."""

        def read(answer: Answer) -> Status:
            return status_of(answer.json())

        target = self._target(task)
        return target.connection.send(target.to("/status"), Request(), read, self._limit(timeout))

    def cancel(self, task: str | Accepted, *, timeout: float | None = None) -> Status | None:
        """Cancels a task, or deletes its result if it has ended: then the answer is None.

        A running task has `cancel_requested`, and is canceled once its handler has stopped. Raises TaskUnknown and other
        PaihaoErrors; TimeoutError.
        """
        return cancel(self._target(task), {}, self._limit(timeout))

    def quote(
        self, queue: str, value: object, *, timeout: float | None = None, **options: Unpack[SubmitOptions]
    ) -> Quote:
        """What place a submission would get; nothing is submitted. Raises PaihaoError; TimeoutError."""

        def read(answer: Answer) -> Quote:
            return quote_of(answer.json())

        path, request = request_of(queue, value, options, "/requests", {"dryRun": "true"})
        return self._connection.send(path, request, read, self._limit(timeout))

    def queues(self, *, timeout: float | None = None) -> list[dict[str, Any]]:
        """All queues with their figures. Raises PaihaoError; TimeoutError."""

        def read(answer: Answer) -> list[dict[str, Any]]:
            items: list[dict[str, Any]] = answer.json()["items"]
            return items

        return self._connection.send("/v1/queues", Request(), read, self._limit(timeout))

    def batch(
        self,
        queue: str,
        values: Iterable[object],
        *,
        timeout: float | None = None,
        **options: Unpack[SubmitOptions],
    ) -> Iterator[Verdict]:
        """Submits many inputs, in parts of up to 500; yields a verdict for each, in order.

        The options are those of all tasks, without an id. Raises PaihaoError, if the queue takes none of them; TimeoutError.
        """
        limit = self._limit(timeout)
        line = 0
        for part in parts_of(map(line_of, values)):
            for verdict in submit_part(self._connection, queue, part, options, limit):
                yield replace(verdict, line=line)
                line += 1

    def _limit(self, timeout: float | None) -> Limit:
        limit = self._stop or Limit()
        limit.within(timeout)
        return limit

    def _target(self, task: str | Accepted) -> Target:
        return target_of(self._connection, task if isinstance(task, str) else task.id)

    def _collect(
        self,
        task: Target,
        limit: Limit,
        on_update: Callable[[Status], object] | None = None,
        on_output: Callable[[Any], object] | None = None,
    ) -> Any:
        """The result of a task, which is followed while it is pending."""

        def read(answer: Answer) -> tuple[bool, Any]:
            state = answer.headers.get("X-Task-State")
            if not state:
                # The page of a portal or proxy counts as no answer.
                raise ValueError("not from Paihao")
            headers = {name.lower(): value for name, value in answer.headers.items()}
            if state == "succeeded":
                return True, decode(answer.read(), answer.status, headers)
            if 200 <= answer.status < 300:
                return False, None  # It is the turn of its caller.
            raise error_of(answer.json())

        try:
            has_ended, result = task.connection.send(task.path + task.query, Request(), read, limit)
            if has_ended:
                return result
        except PaihaoError as error:
            if error.code != "pending":
                raise
        return self._follow(task, limit, on_update, on_output)

    def _follow(
        self,
        task: Target,
        limit: Limit,
        on_update: Callable[[Status], object] | None = None,
        on_output: Callable[[Any], object] | None = None,
    ) -> Any:
        """Follows a task to its end; returns its result."""
        last: dict[str, Any] = {}
        for name, data in Following(task, limit, output=on_output is not None):
            if name != "output":
                last = data
                if on_update:
                    on_update(status_of(data))
            elif on_output:
                on_output(data["data"])
        if "problem" in last:
            raise error_of(last["problem"])
        if "result" in last:
            return last["result"]
        # It may have been retried in the meantime.
        return self._collect(task, limit, on_update, on_output)

    @contextmanager
    def _hold(
        self,
        make: Callable[[dict[str, Any]], AnyTurn],
        queue: str,
        value: object,
        on_update: Callable[[Status], object] | None,
        timeout: float | None,
        options: SubmitOptions,
    ) -> Iterator[AnyTurn]:
        """See `turn`."""
        limit = self._limit(timeout)
        fresh = new_id()
        id = None if "idempotency_key" in options else options.get("id", fresh)
        try:
            task = submit(self._connection, queue, value, options, fresh, limit)
        except (TimeoutError, KeyboardInterrupt, Stopped):
            if id is not None:
                abandon(self._target(id))
            raise
        target = self._target(task)
        try:
            turn = make(self._called(target, limit, on_update))
            limit.within(None)
            keeper = TurnKeeper(target, turn, task.presence or SHORTEST_PRESENCE)
            keeper.start()
            try:
                yield turn
                self._end(target, turn, keeper, limit)
            finally:
                keeper.stop()
        except BaseException:
            abandon(target)
            raise

    def _called(
        self, task: Target, limit: Limit, on_update: Callable[[Status], object] | None
    ) -> dict[str, Any]:
        """Waits until it is the turn of a task; returns its document."""
        for _, data in Following(task, limit):
            if on_update:
                on_update(status_of(data))
            if "turn" in data:
                return data
            if data["state"] == "running":
                raise ValueError(f"the queue {data['queue']} has no turns")
        raise self._why_over(task, limit)

    def _end(self, task: Target, turn: BaseTurn, keeper: TurnKeeper, limit: Limit) -> None:
        """Ends a turn at the end of its block. Raises why it was over before."""

        def read(answer: Answer) -> Status:
            return status_of(answer.json())

        keeper.ending = True
        if keeper.lost:
            raise self._why_over(task, limit)
        headers, body = ({}, None) if turn.result is None else ({"Content-Type": "application/json"}, to_json(turn.result))
        try:
            path = f"{task.path}/done?turn={turn.fence}"
            task.connection.send(path, Request("POST", headers, body), read, limit)
        except PaihaoError as error:
            if error.code != "not-running":
                raise
            raise self._why_over(task, limit) from error

    def _why_over(self, task: Target, limit: Limit) -> PaihaoError:
        """Why a turn has ended that its holder has not ended."""
        try:
            self._collect(task, limit)
        except PaihaoError as error:
            return error
        return error_of(own_problem("The turn is over", 409, "it was ended elsewhere, or by the handler of its queue"))
