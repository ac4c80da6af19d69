"""How tasks are submitted."""

from __future__ import annotations

import json
import re
import secrets
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypedDict

from .connection import ANSWER, NO_ANSWER, Answer, Connection, Request
from .limit import Limit
from .response import encode, to_json
from .status import Accepted, Verdict, accepted_of

#: The largest part of a batch that is sent in one request.
MAX_LINES = 500
MAX_LENGTH = 1_000_000


class SubmitOptions(TypedDict, total=False):
    """Options of a submission."""

    #: Its id; by default a new one. The same id with another input is refused.
    id: str
    #: Instead of an id: the same key with the same input is the same task, whoever sends the request.
    idempotency_key: str
    #: 0 (most urgent) to 7; default 3.
    priority: int
    #: The task starts only after so many seconds, or at this time.
    delay: float | datetime
    #: The task is canceled if it has not ended so many seconds after its submission.
    deadline: float
    #: The task is canceled when nobody has looked at it for so many seconds; following it keeps it.
    presence: float
    #: What people call it: at most 64 characters.
    label: str
    #: The task is refused (`line-too-long`) if more tasks than this would start before it.
    max_index: int
    #: URL to notify when the task has ended.
    webhook: str
    #: Parameters for the handler.
    query: Mapping[str, str]
    #: Media type of the input, if it is not JSON.
    type: str


_NAMES = frozenset(SubmitOptions.__annotations__)


def named(name: str, value: str) -> str:
    """A name that may be part of a path. Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.~-]{0,127}", value, re.ASCII):
        raise ValueError(f"{name} is not valid: {value!r}")
    return value


def new_id() -> str:
    """A unique id."""
    return secrets.token_hex(12)


def request_of(
    queue: str, value: object, options: SubmitOptions, end: str, more: Mapping[str, str] | None = None
) -> tuple[str, Request]:
    """Path and request of a submission, without what identifies it.

    `end` is that of the path, after the queue; `more` are further parameters.
    """
    unknown = set(options) - _NAMES
    if unknown:
        raise TypeError(f"unknown option {sorted(unknown)[0]!r}; the options are {', '.join(sorted(_NAMES))}")
    body, type = encode(value, options.get("type"))
    if re.search(r"[^ -~]", type):
        raise ValueError(f"type is not valid: {type!r}")
    headers = {"Content-Type": type}
    if "priority" in options:
        headers["Priority"] = f"u={int(options['priority'])}"
    search: dict[str, Any] = {**options.get("query", {}), **(more or {})}
    delay = options.get("delay")
    if isinstance(delay, datetime):
        if delay.tzinfo is None:
            raise ValueError("delay is not valid: a datetime needs a time zone")
        search["notBefore"] = delay.isoformat()
    elif delay is not None:
        search["delay"] = delay
    for name, parameter in (
        ("deadline", "deadline"),
        ("presence", "presence"),
        ("label", "label"),
        ("max_index", "maxIndex"),
        ("webhook", "webhook"),
    ):
        if options.get(name) is not None:
            search[parameter] = options.get(name)
    query = f"?{urllib.parse.urlencode(search)}" if search else ""
    return f"/v1/queues/{named('queue', queue)}{end}{query}", Request("POST", headers, body)


def submit(
    connection: Connection, queue: str, value: object, options: SubmitOptions, fresh: str, limit: Limit
) -> Accepted:
    """Submits a task, under the same id however often it is sent: `fresh` if the options have neither an id nor a key."""
    id, key = options.get("id"), options.get("idempotency_key")
    is_fresh = id is None and key is None
    # In the path, since proxies replace X-Request-Id.
    path, request = request_of(queue, value, options, f"/requests/{fresh}" if is_fresh else "/requests")
    headers = {**request.headers, "Prefer": "respond-async"}
    if key is not None:
        if not re.fullmatch(r"[!-~]+", key):
            raise ValueError(f"idempotency_key is not valid: {key!r}")
        headers["Idempotency-Key"] = key
    elif id is not None:
        headers["X-Request-Id"] = named("id", id)
    own = None if key is not None else id or fresh

    def read(answer: Answer) -> Accepted:
        state = answer.headers.get("X-Task-State")
        replayed = "Idempotent-Replayed" in answer.headers
        if answer.status == 202 and state != "succeeded":
            return accepted_of(answer.json(), replayed, answer.headers.get("Presence"))
        # It was submitted before and has ended: the answer is its result, or the problem that says why it has none.
        ended = state or answer.json()["state"]
        task = own or answer.headers.get("X-Request-Id") or ""
        return Accepted(task, queue, ended, None, None, f"/v1/requests/{task}", replayed)

    # Not PUT for an id that the caller chose: it would replace the input of an existing task.
    method = "PUT" if is_fresh else "POST"
    return connection.send(path, Request(method, headers, request.body), read, limit)


def submit_part(
    connection: Connection, queue: str, lines: list[bytes], options: SubmitOptions, limit: Limit
) -> Iterator[Verdict]:
    """Submits lines of a batch, each under its own id, and those again that have no verdict."""
    typed: SubmitOptions = {**options, "type": "application/x-ndjson"}  # type: ignore[misc]
    while lines:
        path, request = request_of(queue, b"\n".join(lines), typed, "/batches", {"envelope": "true"})
        verdicts = connection.send(path, request, _verdicts, limit)
        lines = lines[len(verdicts) :]
        yield from verdicts


def _verdicts(answer: Answer) -> list[Verdict]:
    """The verdicts that arrived, even if the answer then broke off. Raises if there are none."""
    verdicts: list[Verdict] = []
    try:
        for line in answer.lines(ANSWER, ANSWER):
            if line:
                read = json.loads(line)
                verdicts.append(Verdict(read["line"], read.get("id"), read.get("index"), read.get("problem")))
    except NO_ANSWER:
        if not verdicts:
            raise
    if not verdicts:
        raise ValueError("an answer without verdicts")
    return verdicts


def line_of(value: object) -> bytes:
    """The line of an input, with an id of its own."""
    return to_json({"id": new_id(), "input": value})


def parts_of(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines in parts that are sent in one request each."""
    part: list[bytes] = []
    length = 0
    for line in lines:
        part.append(line)
        length += len(line)
        if len(part) >= MAX_LINES or length >= MAX_LENGTH:
            yield part
            part, length = [], 0
    if part:
        yield part
