"""A task that a handler works on."""

from __future__ import annotations

import asyncio
import base64
import threading
from typing import TYPE_CHECKING, Any

from .reports import Reports
from .response import to_json

if TYPE_CHECKING:
    from .leases import Leases


class Canceled(threading.Event):
    """Is set when the work is to stop; `reason`: `canceled`, `deadline`, `abandoned`, `lost` (another worker has the task, or
    it has ended) or `shutdown`."""

    reason: str | None = None


class AsyncCanceled(asyncio.Event):
    """The same for asyncio."""

    reason: str | None = None


class BaseTask:
    """What all tasks have."""

    def __init__(self, leases: Leases, document: dict[str, Any]) -> None:
        self.id: str = document["id"]
        self.queue: str = document["queue"]
        self.fence: int = document["fence"]
        #: From 1.
        self.attempt: int = document["attempt"]
        self.max_attempts: int = document["maxAttempts"]
        self.query: dict[str, str] = document["query"]
        #: The name of the caller's API key.
        self.caller: str | None = document["caller"]
        #: The lease as the server gave it, e.g. with `submittedAt` and `traceparent`.
        self.document = document
        #: Whether another worker has the task, or it has ended: what this one reports no longer counts.
        self.lost = False
        #: Whether its end has been reported, or is being reported.
        self.reported = False
        self._reporting = threading.Lock()
        self._reports = Reports(leases, self)

    @property
    def input(self) -> Any:
        """The input: JSON as its value, anything else as bytes."""
        body = self.document.get("body")
        return self.document["input"] if body is None else base64.b64decode(body)

    def progress(self, percent: float, message: str = "") -> None:
        """Reports progress, 0 to 100. It does not wait for the server; of several that have not been sent, the last counts."""
        self._reports.progress(min(100.0, max(0.0, float(percent))), message[:200])

    def write(self, value: object) -> None:
        """Writes a value of the output, which callers may follow. It does not wait for the server.

        Raises PaihaoError if an earlier one could not be written; if none is written after it, the attempt fails with that.
        """
        self._reports.write(to_json(value))

    def cancel(self, reason: str) -> None:
        """The work is to stop."""
        raise NotImplementedError

    def lose(self) -> None:
        """Another worker has the task, or it has ended."""
        self.lost = True
        self.cancel("lost")

    def settle(self) -> bool:
        """Whether its end may be reported: by one thread, once."""
        with self._reporting:
            first = not (self.reported or self.lost)
            self.reported = True
            return first

    def flush(self) -> None:
        """Waits until what the handler has reported is sent. Raises PaihaoError if output could not be written."""
        self._reports.flush()


class Task(BaseTask):
    """A task of a handler that runs in a thread."""

    def __init__(self, leases: Leases, document: dict[str, Any]) -> None:
        super().__init__(leases, document)
        self.canceled = Canceled()

    def cancel(self, reason: str) -> None:
        """The work is to stop."""
        if not self.canceled.is_set():
            self.canceled.reason = reason
            self.canceled.set()


class AsyncTask(BaseTask):
    """A task of a handler that is a coroutine."""

    def __init__(self, leases: Leases, document: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(leases, document)
        self.canceled = AsyncCanceled()
        self._loop = loop

    def cancel(self, reason: str) -> None:
        """The work is to stop."""
        if self.canceled.reason is None:
            self.canceled.reason = reason
            self._loop.call_soon_threadsafe(self.canceled.set)
