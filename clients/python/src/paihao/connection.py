"""Requests to a server, tried again if that may help."""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import re
import socket
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

from .errors import PaihaoError, code_of, error_of, own_problem
from .limit import Limit
from .pool import Pool

T = TypeVar("T")

#: How often a request is tried: over about half a minute.
ATTEMPTS = 8
#: The pause before attempt n + 1 is this·2^(n−1), at most the longest, half of it random.
PAUSE = 0.25
LONGEST_PAUSE = 10.0
#: For a longer Retry-After the client does not wait: the caller gets the error.
LONGEST_RETRY_AFTER = 60.0
#: How long a connection may take, and how long an answer may take to begin, and to arrive.
CONNECT = 10.0
ANSWER = 35.0

#: What there is instead of a usable answer.
NO_ANSWER = (OSError, http.client.HTTPException, ValueError)
#: What reading an answer raises that is not from Paihao.
ODD = (LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class Request:
    """A request. `once`: do not try it again, unless the server answers that it came too often. `fresh`: it must not arrive
    twice, so it is sent on a new connection, which cannot be stale. `wait`: how much longer than usual the answer may take."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    once: bool = False
    fresh: bool = False
    wait: float = 0.0


class Answer:
    """An answer whose head has arrived. To be closed."""

    def __init__(
        self,
        response: http.client.HTTPResponse,
        used: socket.socket,
        limit: Limit,
        ends: float,
        keep: Callable[[], None] | None,
    ) -> None:
        self.status = response.status
        self.headers = response.headers
        self._response = response
        self._socket = used
        self._limit = limit
        self._ends = ends
        #: What keeps the connection, if that may be used again after this answer.
        self._keep = keep

    def read(self) -> bytes:
        """The body. Raises if it is incomplete."""
        return b"".join(self._parts(lambda: self._ends - time.monotonic()))

    def json(self) -> Any:
        """The JSON of the body."""
        return json.loads(self.read())

    def lines(self, first: float, silence: float) -> Iterator[str]:
        """The lines of a body as they come. It may be silent for so long, at first and then."""
        allowed = first
        rest = b""
        for part in self._parts(lambda: allowed):
            allowed = silence
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line.rstrip(b"\r").decode()
        if rest:
            yield rest.decode()

    def _parts(self, allowed: Callable[[], float]) -> Iterator[bytes]:
        while True:
            self._socket.settimeout(self._limit.left(allowed()))
            part = self._response.read1(65_536)
            if not part:
                break
            yield part
        self._limit.check()
        if self._response.length:
            raise http.client.IncompleteRead(b"", self._response.length)

    def __enter__(self) -> Answer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limit.hold(None)
        response = self._response
        is_read = response.isclosed() if response.chunked else response.length == 0
        response.close()
        if self._keep and is_read:
            self._keep()
        else:
            self._socket.close()


class Connection:
    """How a server is reached. Any number of threads may send requests.

    `is_patient`: problems that are not from Paihao count as no answer, whatever they say, as from a proxy that is being set up.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        attempts: int,
        context: ssl.SSLContext | None = None,
        is_patient: bool = False,
    ) -> None:
        key = (key or "").strip()
        # The messages must not contain a password or the API key, since they may be logged.
        if not re.fullmatch(r"https?://[^@?#]+", url, re.IGNORECASE):
            raise ValueError("url is not valid: expected http:// or https://, without a password and a query")
        if re.search(r"[^!-~]", key):
            raise ValueError("key is not valid")
        self.url = url.rstrip("/")
        self._parts = urllib.parse.urlsplit(self.url)
        self._key, self._attempts, self._context = key, attempts, context
        self._is_patient = is_patient
        self._pool = Pool()

    def without_key(self, url: str) -> Connection:
        """The same connection without the API key, perhaps to another server."""
        return Connection(url, None, self._attempts, self._context)

    def send(self, path: str, request: Request, read: Callable[[Answer], T], limit: Limit) -> T:
        """Sends a request that may be sent again, and reads the answer; an incomplete one counts as none.

        Raises PaihaoError, and the reason of the limit.
        """
        attempt = 1
        while True:
            try:
                with self.open(path, request, limit, ANSWER + request.wait) as answer:
                    try:
                        return read(answer)
                    except ODD as error:
                        raise ValueError(f"not an answer of Paihao: {error!r}") from error
            except (*NO_ANSWER, PaihaoError) as error:
                self.pause(error, attempt, limit, request.once)
            attempt += 1

    def pause(self, thrown: Exception, attempt: int, limit: Limit, once: bool = False) -> None:
        """Waits before the next attempt. Raises PaihaoError if another attempt would not help."""
        limit.check()
        if isinstance(thrown, PaihaoError):
            error = thrown
        else:
            problem = own_problem("The server cannot be reached", 0, f"no usable answer from {self.url}: {thrown!r}")
            error = error_of(problem, kind="unreachable")
        too_often = error.problem["status"] == 429 and error.code != "too-many-tasks"
        # The problem of a task, which has a state, is final.
        helps = not error.problem.get("state") and (
            error.kind == "unreachable" or too_often or error.code == "not-durable"
        )
        asked = error.retry_after
        if not helps or (once and not too_often) or attempt >= self._attempts or (asked or 0) > LONGEST_RETRY_AFTER:
            raise error from (None if error is thrown else thrown)
        limit.sleep(pause_before(attempt + 1, asked))

    def open(self, path: str, request: Request, limit: Limit, seconds: float) -> Answer:
        """Sends the request once; returns the answer, of which head and body may take so long.

        Raises PaihaoError for a problem, and one of NO_ANSWER.
        """
        ends = time.monotonic() + seconds
        kept = None if request.fresh else self._pool.take()
        if kept:
            try:
                return self._exchange(kept, path, request, limit, ends)
            except TimeoutError:
                raise
            except NO_ANSWER:
                # The server may have closed it at that moment. That is no fault, so it is no attempt.
                limit.check()
        return self._exchange(self._connect(limit.left(min(seconds, CONNECT))), path, request, limit, ends)

    def _exchange(
        self, used: http.client.HTTPConnection, path: str, request: Request, limit: Limit, ends: float
    ) -> Answer:
        is_sent = True
        try:
            limit.hold(used.sock)
            used.sock.settimeout(limit.left(ends - time.monotonic()))
            headers = dict(request.headers)
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            try:
                used.request(request.method, self._parts.path + path, request.body, headers)
            except TimeoutError:
                raise
            except OSError:
                # A server that refuses a body need not read it: its answer says why.
                is_sent = False
            # It forgets the socket of an answer that is the last.
            socket_of_answer = used.sock
            response = used.getresponse()
            may_keep = is_sent and not response.will_close
            keep = (lambda: self._pool.give(used)) if may_keep else None
            answer = Answer(response, socket_of_answer, limit, ends, keep)
        except BaseException:
            limit.hold(None)
            used.close()
            raise
        # The answers about ended and pending tasks have statuses of their own.
        is_of_task = "X-Task-State" in answer.headers or "Idempotent-Replayed" in answer.headers
        if 200 <= answer.status < 300 or answer.status == 304 or is_of_task:
            return answer
        with answer:
            raise self._refusal(answer)

    def _refusal(self, answer: Answer) -> PaihaoError:
        """The error of an unsuccessful answer."""
        try:
            read = answer.json()
        except (*NO_ANSWER, RecursionError):
            read = None
        if isinstance(read, dict) and isinstance(read.get("type"), str) and isinstance(read.get("title"), str):
            problem = {**read, "status": answer.status}
        else:
            problem = own_problem(f"HTTP {answer.status}", answer.status, "not from Paihao")
        # A proxy that refuses a large body will go on to do so.
        may_pass = self._is_patient and not code_of(problem) and answer.status != 413
        retry_after = _retry_after(answer.headers.get("Retry-After"))
        return error_of(problem, retry_after, "unreachable" if may_pass else None)

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme.lower() == "https":
            used: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, port, timeout=seconds, context=self._context
            )
        else:
            used = http.client.HTTPConnection(host, port, timeout=seconds)
        used.connect()
        return used


def pause_before(attempt: int, retry_after: float | None = None) -> float:
    """The pause before an attempt: at least what the server asks for, varied so that callers do not return together."""
    if retry_after is not None:
        return retry_after * (1 + random.random() / 4)
    return min(LONGEST_PAUSE, PAUSE * 2.0 ** (attempt - 2)) * (0.5 + random.random() / 2)


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After (RFC 9110 §10.2.3): a number, or a date."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None
