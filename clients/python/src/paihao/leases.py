"""The leases of tasks, and the requests for them."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .connection import Answer, Connection, Request
from .errors import PaihaoError
from .limit import Limit
from .response import to_json

log = logging.getLogger("paihao")

T = TypeVar("T")

#: How long a request for tasks waits for some.
TAKE = 20.0
#: The pause after requests that got no answer.
PAUSE = 2.0
#: How long the end of a task is reported while there is no answer.
REPORT = 600.0
#: How many leases of a call are dealt with at the same time.
AT_ONCE = 32


class Lease:
    """The lease of a task: what a worker says under it, and whether it still holds."""

    def __init__(self, connection: Connection, document: dict[str, Any], taken: float) -> None:
        self._connection = connection
        self.document = document
        self.id: str = document["id"]
        self.fence: int = document["fence"]
        self.length = float(document["leaseSeconds"])
        #: When it ends by the clock of this process, if it is not renewed.
        self.valid_until = taken + self.length
        #: Why the server asks to stop: `canceled`, `deadline`, `abandoned`; None if it does not.
        self.reason: str | None = None
        #: Whether another worker has the task, or it has ended: what this one reports no longer counts.
        self.lost = False
        #: Whether the end of the task has been reported, or will not be.
        self.over = False

    def renew(self, limit: Limit) -> None:
        """Renews it, once. Raises PaihaoError, TimeoutError."""
        began = time.monotonic()

        def read(answer: Answer) -> tuple[float, str | None]:
            document = answer.json()
            return float(document["leaseSeconds"]), str(document["reason"]) if document["cancelRequested"] else None

        # The server counts from a later moment, so it does not end there before it ends here.
        seconds, self.reason = self._send("renew", b"", read, limit, once=True)
        self.valid_until = began + seconds

    def say(self, verb: str, members: bytes, fresh: bool = False) -> None:
        """Reports something, once: members of JSON. Raises PaihaoError."""

        def read(answer: Answer) -> None:
            if answer.status != 204:
                raise ValueError("not from Paihao")

        self._send(verb, members, read, Limit(), once=True, fresh=fresh)

    def end(self, verb: str, members: bytes, limit: Limit) -> PaihaoError | None:
        """Reports the end of its task until there is an answer; returns why that was a refusal. Raises TimeoutError."""

        def read(answer: Answer) -> str:
            verdict: str = answer.json()["verdict"]
            return verdict

        until = time.monotonic() + REPORT
        while not self.lost:
            before = self.valid_until
            try:
                log.info("%s of %s: %s", self.id, self.document["queue"], self._send(verb, members, read, limit))
                return None
            except PaihaoError as error:
                log.warning("could not report the end of %s: %s", self.id, error)
                # If renewals got through meanwhile, a proxy does not let this one through.
                is_about_this = 0 < error.problem["status"] < 500 and not error.code and self.valid_until > before
                is_final = not may_pass(error) or is_about_this or time.monotonic() >= until
                if is_final and not self.lost:
                    return error
                limit.sleep(max(PAUSE, error.retry_after or 0.0))
        return None

    def _send(
        self,
        verb: str,
        members: bytes,
        read: Callable[[Answer], T],
        limit: Limit,
        once: bool = False,
        fresh: bool = False,
    ) -> T:
        body = b'{"fence":%d%b%b}' % (self.fence, b"," if members else b"", members)
        request = Request("POST", {"Content-Type": "application/json"}, body, once, fresh)
        try:
            return self._connection.send(f"/v1/leases/{self.id}/{verb}", request, read, limit)
        except PaihaoError as error:
            if error.code in ("unknown", "invalid-task"):
                self.lost = True
            raise


def take(
    connection: Connection, queue: str, body: dict[str, Any], fill: float, request_id: str, limit: Limit
) -> list[Lease]:
    """Waits for tasks, and for so long for more of them. Repeated under the same request id it gets the same ones.

    Raises PaihaoError, and the reason of the limit.
    """
    began = time.monotonic()

    def read(answer: Answer) -> list[Lease]:
        arrived = time.monotonic()
        documents = [] if answer.status == 204 else answer.json()["items"]
        # The answer may have waited for that, for half a lease at most. Repeated, it gives the whole lease again.
        return [
            Lease(connection, document, max(began, arrived - min(fill, document["leaseSeconds"] / 2)))
            for document in documents
        ]

    headers = {"Content-Type": "application/json", "Prefer": f"wait={TAKE:.0f}", "X-Request-Id": request_id}
    request = Request("POST", headers, to_json(body), wait=TAKE)
    return connection.send(f"/v1/queues/{queue}/leases", request, read, limit)


def may_pass(error: PaihaoError) -> bool:
    """Whether the same request may be answered otherwise in a while."""
    return error.kind == "unreachable" or error.problem["status"] == 429 or error.problem["status"] >= 500


def for_each(leased: Sequence[T], call: Callable[[T], object]) -> None:
    """Calls a function for each, several at the same time. It must not raise."""
    left = deque(leased)

    def work() -> None:
        while left:
            try:
                one = left.popleft()
            except IndexError:
                return
            call(one)

    helpers: list[threading.Thread] = []
    for _ in range(min(len(leased), AT_ONCE) - 1):
        helper = threading.Thread(target=work, daemon=True, name="paihao-leases")
        try:
            helper.start()
        except RuntimeError:
            break  # There cannot be more threads.
        helpers.append(helper)
    work()
    for helper in helpers:
        helper.join()
