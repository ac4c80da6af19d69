"""What a handler raises to say how its task goes on."""

from __future__ import annotations

from typing import Any


class GiveUp(Exception):
    """Ends the task without another attempt; the members become the problem that its caller gets."""

    def __init__(self, title: str, status: int = 500, detail: str | None = None, **members: Any) -> None:
        super().__init__(title)
        self.problem = {"title": title, "status": status, **({"detail": detail} if detail else {}), **members}


class RetryLater(Exception):
    """Runs the task again after so many seconds, without counting this attempt."""

    def __init__(self, seconds: float, message: str = "the handler asked for a later attempt") -> None:
        super().__init__(message)
        self.seconds = seconds
