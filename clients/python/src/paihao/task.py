"""A task that a handler works on."""

from __future__ import annotations

import asyncio
import base64
import threading
from typing import Any

from .leases import Lease
from .reports import Reports
from .response import shortened, to_json

#: The longest message of progress that the server takes.
MAX_MESSAGE = 200


class Canceled(threading.Event):
    """Is set when the work is to stop; `reason`: `timeout`, `canceled`, `deadline`, `abandoned`, `lost` (another worker has the
    task, or may have it, as the lease could not be renewed) or `shutdown`."""

    reason: str | None = None


class AsyncCanceled(asyncio.Event):
    """The same for asyncio."""

    reason: str | None = None


class BaseTask:
    """What all tasks have."""

    canceled: Canceled | AsyncCanceled

    def __init__(self, lease: Lease) -> None:
        document = lease.document
        self.id = lease.id
        self.queue: str = document["queue"]
        self.fence = lease.fence
        #: From 1.
        self.attempt: int = document["attempt"]
        self.max_attempts: int = document["maxAttempts"]
        self.query: dict[str, str] = document["query"]
        #: The name of the caller's API key.
        self.caller: str | None = document["caller"]
        #: The lease as the server gave it, e.g. with `submittedAt` and `traceparent`.
        self.document = document
        self._lease = lease
        self._reports = Reports(lease)

    @property
    def input(self) -> Any:
        """The input: JSON as its value, anything else as bytes."""
        body = self.document.get("body")
        return self.document["input"] if body is None else base64.b64decode(body)

    def progress(self, percent: float, message: str = "") -> None:
        """Reports progress, 0 to 100. It does not wait for the server; of several that have not been sent, the last counts."""
        percent = min(100.0, max(0.0, float(percent)))
        self._reports.progress(b'"percent":%b,"message":%b' % (to_json(percent), to_json(shortened(message, MAX_MESSAGE))))

    def write(self, value: object) -> None:
        """Writes a value of the output, which callers may follow. It does not wait for the server.

        Raises PaihaoError if an earlier one could not be written; if none is written after it, the attempt fails with that.
        """
        self._reports.write(to_json(value))

    def cancel(self, reason: str) -> None:
        """The work is to stop."""
        raise NotImplementedError

    def flush(self) -> None:
        """Waits until what the handler has reported is sent. Raises PaihaoError if output could not be written."""
        self._reports.flush()


class Task(BaseTask):
    """A task of a handler that runs in a thread."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(lease)
        self.canceled: Canceled = Canceled()

    def cancel(self, reason: str) -> None:
        """The work is to stop."""
        if self.canceled.reason is None:
            self.canceled.reason = reason
            self.canceled.set()


class AsyncTask(BaseTask):
    """A task of a handler that is a coroutine."""

    def __init__(self, lease: Lease, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(lease)
        self.canceled: AsyncCanceled = AsyncCanceled()
        self._loop = loop

    def cancel(self, reason: str) -> None:
        """The work is to stop."""
        if self.canceled.reason is None:
            self.canceled.reason = reason
            self._loop.call_soon_threadsafe(self.canceled.set)
