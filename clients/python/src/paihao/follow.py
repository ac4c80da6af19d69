"""Following a task to its end."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .connection import NO_ANSWER, ODD, Answer, Connection, Request, pause_before
from .errors import PaihaoError
from .limit import Limit
from .status import status_of
from .submission import named

#: The server sends something at once: if a stream is silent for this long, a proxy is buffering it.
FIRST_BYTE = 5.0
#: How long an open stream may be silent: the server sends a comment every 10 s.
SILENCE = 25.0
#: After this many streams in a row that broke off early, the client polls instead.
MAX_CUTS = 3
#: A stream that lasted this long did not break off early.
LONG = 20.0
#: How long a long poll lasts, and one for output.
POLL = 25
OUTPUT_POLL = 2
#: A poll answered faster than this is followed by a pause; one that fails faster was not cut by a proxy.
QUICK = 0.5
QUICK_PAUSE = 2.0

#: What happens to a task: `status`, `done` or `output`, with its document.
Event = tuple[str, dict[str, Any]]

_LINK = re.compile(
    r"(?:(https?://[^?#]*?)|/[^?#]*)?(/v1/requests/[A-Za-z0-9][\w.~-]{0,127})(?:/[a-z]*)?(\?[^#]*)?", re.ASCII
)


@dataclass(frozen=True)
class Target:
    """A task at its server: the path of its result, and the signature of a link, with its question mark."""

    connection: Connection
    path: str
    query: str

    def to(self, resource: str) -> str:
        """The path of one of its resources."""
        return self.path + resource + self.query


def target_of(connection: Connection, text: str) -> Target:
    """The task of an id, or of a link to one of its resources, which may be signed. Raises ValueError."""
    found = _LINK.fullmatch(text)
    if not found:
        return Target(connection, f"/v1/requests/{named('id', text)}", "")
    base, path, query = found[1] or connection.url, found[2], found[3] or ""
    # The key must not go to another server, and a signed link does not need it.
    bare = query or base != connection.url
    return Target(connection.without_key(base) if bare else connection, path, query)


class Following:
    """What happens to a task until it has ended: by its event stream, or by long polls if a proxy refuses, buffers, or
    repeatedly cuts the stream."""

    def __init__(self, task: Target, limit: Limit, output: bool = False) -> None:
        self._task, self._limit, self._output = task, limit, output
        #: The id of the last event that had one.
        self._last_id = ""
        #: The version of the last status, so that none is repeated, and its ETag in a poll.
        self._version = ""
        self._tag = ""
        #: The number of the next value.
        self._next = 0
        #: Whether the last stream delivered anything.
        self._heard = False
        self._wait = POLL

    def __iter__(self) -> Iterator[Event]:
        """The last event is `done`. Raises PaihaoError, and the reason of the limit."""
        cuts = failures = 0
        polls = ever_heard = False
        while True:
            began = time.monotonic()
            self._heard = False
            failure: Exception | None = None
            try:
                for event in self._poll() if polls else self._stream():
                    yield event
                    if event[0] == "done":
                        return
            except (*NO_ANSWER, *ODD, PaihaoError) as error:
                self._limit.check()
                failure = error
            lasted = time.monotonic() - began
            ever_heard = ever_heard or self._heard
            if not polls:
                # A poll will tell why nothing came.
                polls = not self._heard
                if not polls:
                    cuts = 0 if lasted > LONG else cuts + 1
                    polls = cuts >= MAX_CUTS
                    self._limit.sleep(pause_before(2))
            elif failure is None:
                failures = 0
                # The server is back.
                polls = not ever_heard or cuts >= MAX_CUTS
            elif not (isinstance(failure, PaihaoError) and failure.kind == "unreachable"):
                raise failure
            else:
                failures += 1
                # A proxy may cut long requests: try a shorter poll.
                if self._wait > 0 and lasted > QUICK:
                    self._wait //= 3
                else:
                    self._task.connection.pause(failure, failures, self._limit)

    def _stream(self) -> Iterator[Event]:
        """Ends without `done` if the stream breaks off."""
        headers = {"Accept": "text/event-stream"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        request = Request(headers=headers)
        with self._task.connection.open(self._task.to("/events"), request, self._limit, FIRST_BYTE) as answer:
            if not (answer.headers.get("Content-Type") or "").startswith("text/event-stream"):
                return
            for event in _events(answer.lines(FIRST_BYTE, SILENCE)):
                self._heard = True
                name, id = event.get("event"), event.get("id")
                if "data" not in event or name not in ("status", "output", "done"):
                    continue
                data = json.loads(event["data"])
                if name != "output":
                    status_of(data)
                self._last_id = id or self._last_id
                if name == "output" and data["seq"] >= self._next:
                    self._next = data["seq"] + 1
                    if self._output:
                        yield name, data
                # The status of the end has no id: `done` follows it.
                if name == "done" or (name == "status" and id and self._is_new(id.split(".")[0])):
                    yield name, data

    def _poll(self) -> Iterator[Event]:
        """One conditional long poll, or one request for output that the server ends."""
        began = time.monotonic()
        if self._output and self._tag:
            yield from self._outputs(min(self._wait, OUTPUT_POLL))
        headers = {"If-None-Match": self._tag} if self._tag else {}
        answer = poll(self._task, 0 if self._output else self._wait, headers, self._limit)
        if answer is not None:
            status, tag = answer
            if status["finishedAt"] is not None:
                if self._output:
                    yield from self._outputs(0)
                yield "done", status
                return
            self._tag = tag
            if self._is_new(re.sub(r'^W/|"', "", tag)):
                yield "status", status
        # A server or proxy that answers at once must not be asked all the time. Retry-After is no help: it is the time of the
        # task's turn, and much may happen before.
        if time.monotonic() - began < QUICK:
            self._limit.sleep(pause_before(2, QUICK_PAUSE))

    def _outputs(self, seconds: int) -> Iterator[Event]:
        after = f"{'&' if self._task.query else '?'}after={self._next - 1}" if self._next else ""
        request = Request(headers={"Prefer": f"wait={seconds}"}, once=True, wait=seconds)
        text = self._task.connection.send(self._task.to("/output") + after, request, Answer.read, self._limit)
        for line in text.split(b"\n"):
            if line:
                data = json.loads(line)
                self._next = data["seq"] + 1
                yield "output", data

    def _is_new(self, version: str) -> bool:
        known, self._version = self._version, version
        return not version or version != known


def poll(task: Target, seconds: int, headers: dict[str, str], limit: Limit) -> tuple[dict[str, Any], str] | None:
    """The status of a task, and its ETag; None if the caller has it, according to the headers. Sent once.

    Raises PaihaoError, and the reason of the limit.
    """

    def read(answer: Answer) -> tuple[dict[str, Any], str] | None:
        if answer.status == 304:
            return None
        document = answer.json()
        status_of(document)
        return document, answer.headers.get("ETag") or ""

    request = Request(headers={"Prefer": f"wait={seconds}", **headers}, once=True, wait=seconds)
    return task.connection.send(task.to("/status"), request, read, limit)


def _events(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The events of a stream (WHATWG HTML §9.2.6). An incomplete event is dropped. The server writes data in one line."""
    event: dict[str, str] = {}
    for line in lines:
        if line:
            field, _, value = line.partition(":")
            event[field] = value.removeprefix(" ")
        else:
            yield event
            event = {}
