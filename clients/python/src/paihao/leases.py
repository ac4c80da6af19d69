"""The requests of a worker."""

from __future__ import annotations

from typing import Any

from .connection import Answer, Connection, Request
from .errors import PaihaoError
from .limit import Limit
from .response import to_json

#: How long a request for tasks waits for some.
TAKE = 20.0


class Leases:
    """What a worker asks the server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def take(self, queue: str, body: dict[str, Any], request_id: str, limit: Limit) -> list[dict[str, Any]]:
        """Waits for tasks. Repeated under the same request id it gets the same ones."""

        def read(answer: Answer) -> list[dict[str, Any]]:
            items: list[dict[str, Any]] = [] if answer.status == 204 else answer.json()["items"]
            return items

        headers = {"Prefer": f"wait={TAKE:.0f}", "X-Request-Id": request_id}
        request = _post(to_json(body), headers=headers, wait=TAKE)
        return self._connection.send(f"/v1/queues/{queue}/leases", request, read, limit)

    def say(self, id: str, verb: str, body: str, limit: Limit, once: bool = False) -> dict[str, Any]:
        """Reports something about a leased task, in JSON; returns what the server answers."""

        def read(answer: Answer) -> dict[str, Any]:
            document: dict[str, Any] = {} if answer.status == 204 else answer.json()
            return document

        return self._connection.send(f"/v1/leases/{id}/{verb}", _post(body, once=once, fresh=verb == "output"), read, limit)


def _post(
    body: str, headers: dict[str, str] | None = None, once: bool = False, fresh: bool = False, wait: float = 0.0
) -> Request:
    all = {"Content-Type": "application/json", **(headers or {})}
    # Output must not arrive twice.
    return Request("POST", all, body.encode(), once, fresh, wait)


def is_lost(error: PaihaoError) -> bool:
    """Whether another worker has the task, or it has ended."""
    return error.problem["status"] in (404, 410)
