"""Why a request was refused, or why a task has no result."""

from __future__ import annotations

import re
from typing import Any

#: A problem document (RFC 9457): `type`, `title`, `status`, perhaps `detail`, `errors` and others.
Problem = dict[str, Any]


class PaihaoError(Exception):
    """Every error of a server, and that it cannot be reached.

    `kind` says what a caller can do about it: `failed`, `canceled`, `expired` and `unknown` are about the task; `refused`: the
    request was not accepted (invalid input, full queue, conflict); `unauthorized`: the API key is missing, wrong, or may not do
    this; `unreachable`: there was no usable answer after all attempts. `retry_after`: in how many seconds the same request may
    succeed, if the server said so.
    """

    def __init__(self, kind: str, problem: Problem, retry_after: float | None = None) -> None:
        fields = "; ".join(f"{field.get('pointer')}: {field.get('detail')}" for field in problem.get("errors") or [])
        title, detail = problem.get("title") or "", problem.get("detail") or ""
        # The detail often repeats the title, or the first of the errors.
        parts = (title, "" if detail in title + fields else detail, fields)
        super().__init__(": ".join(part for part in parts if part))
        self.kind = kind
        self.problem = problem
        self.retry_after = retry_after

    @property
    def code(self) -> str:
        """The code of the problem, e.g. `invalid-input`; "" for a problem that the server does not define."""
        return code_of(self.problem)


class TaskFailed(PaihaoError):
    """The task failed: `problem` is its handler's, or `task-failed`, `task-timeout` or `worker-lost`."""


class TaskCanceled(PaihaoError):
    """The task was canceled, by someone, by its deadline, or as nobody looked at it (`problem["reason"]`)."""


class TaskExpired(PaihaoError):
    """The result has expired or been deleted."""


class TaskUnknown(PaihaoError):
    """There is no such task, or it belongs to another caller."""


_KINDS = {
    "canceled": "canceled",
    "expired": "expired",
    "deleted": "expired",
    "unknown": "unknown",
    "store-unavailable": "unreachable",
}
_CLASSES = {"failed": TaskFailed, "canceled": TaskCanceled, "expired": TaskExpired, "unknown": TaskUnknown}


def error_of(problem: Problem, retry_after: float | None = None, kind: str | None = None) -> PaihaoError:
    """The error of a problem."""
    kind = kind or _kind_of(problem)
    return _CLASSES.get(kind, PaihaoError)(kind, problem, retry_after)


def own_problem(title: str, status: int, detail: str) -> Problem:
    """A problem that was found here, not by the server."""
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}


def code_of(problem: Problem) -> str:
    """The code of a problem of Paihao; "" for any other."""
    found = re.fullmatch(r"/[^?#]*?problems/([\w-]+)", str(problem.get("type")))
    return found[1] if found else ""


def _kind_of(problem: Problem) -> str:
    code = code_of(problem)
    known = _KINDS.get(code)
    # Its handler may have given it any code and status.
    if problem.get("state") == "failed" and known != "expired":
        return "failed"
    if known:
        return known
    if problem["status"] in (401, 403):
        return "unauthorized"
    # From a proxy, for example.
    return "unreachable" if problem["status"] >= 500 and not code and not problem.get("state") else "refused"
