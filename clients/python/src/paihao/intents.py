"""What a handler raises to say how its task goes on."""

from __future__ import annotations

from typing import Any

#: The longest pause before another attempt that the server takes, in seconds: a year.
LONGEST_DELAY = 366 * 86_400


class GiveUp(Exception):
    """Ends the task without another attempt; the members become the problem that its caller gets.

    Raises ValueError for a status that is not 400 to 599.
    """

    def __init__(self, title: str, status: int = 500, detail: str | None = None, **members: Any) -> None:
        if status not in range(400, 600):
            raise ValueError(f"GiveUp: status is {status!r}, expected 400 to 599")
        super().__init__(title)
        self.problem = {"title": title, "status": status, **({"detail": detail} if detail else {}), **members}


class RetryLater(Exception):
    """Runs the task again after so many seconds, without counting this attempt.

    Raises ValueError for what is not a number from 0 to a year.
    """

    def __init__(self, seconds: float, message: str = "the handler asked for a later attempt") -> None:
        try:
            self.seconds = float(seconds)
            fits = 0 <= self.seconds <= LONGEST_DELAY
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            raise ValueError(f"RetryLater: seconds is {seconds!r}, expected a number from 0 to {LONGEST_DELAY}")
        super().__init__(message)
