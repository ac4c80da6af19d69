"""What a server says about tasks and queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import Problem

Document = dict[str, Any]


def _seconds(eta: Document | None) -> float | None:
    return None if eta is None else float(eta["seconds"])


@dataclass(frozen=True)
class Accepted:
    """A task that the server has accepted. `replayed`: it had been submitted before under this id, and does not run twice."""

    id: str
    queue: str
    state: str
    #: How many tasks stand before it; None without a place in line.
    index: int | None
    #: In how many seconds it is expected to start.
    eta: float | None
    #: The path of its result; with a signature if the server signs links.
    href: str
    replayed: bool
    #: After how many seconds without a look it is canceled; None for never.
    presence: float | None = None


@dataclass(frozen=True)
class Status:
    """What is known about a task."""

    id: str
    queue: str
    #: `waiting`, `scheduled`, `running`, `retrying`; at the end `succeeded`, `failed` or `canceled`.
    state: str
    #: How many tasks stand before it; None without a place in line.
    index: int | None
    #: In how many seconds it is expected to start.
    eta: float | None
    attempt: int
    #: 0 to 100; None before it runs.
    percent: float | None
    message: str | None
    cancel_requested: bool
    #: Why it failed or was canceled.
    error: str | None
    #: All that the server said.
    document: Document

    @property
    def ended(self) -> bool:
        """Whether it is in its last state."""
        return self.document["finishedAt"] is not None


@dataclass(frozen=True)
class Output:
    """A value that a handler wrote. `run` rises when the task starts again: earlier values no longer count."""

    data: Any
    seq: int
    run: int
    attempt: int


@dataclass(frozen=True)
class Quote:
    """What place a submission would get."""

    queue: str
    index: int
    eta: float | None


@dataclass(frozen=True)
class Verdict:
    """The verdict on an input of a batch: its task, or the problem for which there is none."""

    line: int
    id: str | None
    index: int | None
    problem: Problem | None


def status_of(document: Document) -> Status:
    """The status in a document."""
    progress = document["progress"] or {}
    error = document["error"] or {}
    return Status(
        id=document["id"],
        queue=document["queue"],
        state=document["state"],
        index=document["index"],
        eta=_seconds(document["eta"]),
        attempt=document["attempt"],
        percent=progress.get("percent"),
        message=progress.get("message"),
        cancel_requested=document["cancelRequested"],
        error=error.get("message"),
        document=document,
    )


def output_of(document: Document) -> Output:
    """The value in a line of output."""
    return Output(document["data"], document["seq"], document["run"], document["attempt"])


def accepted_of(document: Document, replayed: bool, presence: str | None) -> Accepted:
    """The task in the answer to a submission."""
    return Accepted(
        id=document["id"],
        queue=document["queue"],
        state=document["state"],
        index=document["index"],
        eta=_seconds(document["eta"]),
        href=document["href"],
        replayed=replayed,
        presence=None if presence is None else float(presence),
    )


def quote_of(document: Document) -> Quote:
    """The answer to a submission that is not made."""
    return Quote(document["queue"], document["index"], _seconds(document["eta"]))
