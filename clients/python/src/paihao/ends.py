"""How the end of an attempt is reported."""

from __future__ import annotations

import base64
from typing import Any

from .errors import PaihaoError
from .intents import GiveUp, RetryLater
from .response import BYTES, Response, shortened, to_json

#: The longest error that the server takes.
MAX_ERROR = 2000


class TimedOut(Exception):
    """The handler took longer than so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"took longer than {seconds:g} s")
        self.seconds = seconds


def report_of(end: object) -> tuple[str, bytes]:
    """The verb and the members, in JSON, for what a handler returned or raised. Never raises, whatever that is."""
    try:
        return _report_of(end)
    except BaseException as error:
        # Also SystemExit, since methods of its objects may be called.
        return "fail", _error(f"what the handler made cannot be sent: {text_of(error)}")


def refusal_of(error: PaihaoError) -> bytes:
    """The members of `fail` after the server has refused the report of an end."""
    text = f"what the handler made was refused: {error}"
    if error.problem["status"] != 413:
        return _error(text)
    # It would be as large in another attempt.
    problem = {"type": "/problems/task-failed", "title": "The task failed", "detail": text}
    return b'"giveUp":%b,%b' % (to_json(problem), _error(text))


def text_of(error: BaseException) -> str:
    """The class and the message of an error, as far as they can be had."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except BaseException as another:
        return f"{name}, whose message cannot be read: {type(another).__name__}"


def _report_of(end: Any) -> tuple[str, bytes]:
    if isinstance(end, TimedOut):
        return "fail", b'"timeout":%b,%b' % (to_json(end.seconds), _error(str(end)))
    if isinstance(end, RetryLater):
        return "fail", b'"after":%b,%b' % (to_json(end.seconds), _error(str(end)))
    if isinstance(end, GiveUp):
        return "fail", b'"giveUp":%b,%b' % (to_json(end.problem), _error(str(end)))
    if isinstance(end, BaseException):
        return "fail", _error(text_of(end))
    if isinstance(end, (bytes, bytearray, memoryview)):
        end = Response(bytes(end), BYTES)
    if isinstance(end, Response):
        if end.headers:
            raise TypeError("the Response of a handler cannot have headers")
        body = base64.b64encode(end.body)
        return "complete", b'"body":"%b","contentType":%b,"status":%b' % (body, to_json(end.type), to_json(end.status))
    if end is None:
        return "complete", b""
    return "complete", b'"result":%b' % to_json(end)


def _error(text: str) -> bytes:
    return b'"error":%b' % to_json(shortened(text, MAX_ERROR))
