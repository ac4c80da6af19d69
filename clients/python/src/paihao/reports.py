"""What a handler reports while it works."""

from __future__ import annotations

import threading

from .leases import Lease

#: The largest number of values that are written in one request.
MAX_VALUES = 1000


class Reports:
    """Sends progress and output of a task, in a thread that starts with the first of them."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._changed = threading.Condition()
        #: Members of JSON.
        self._progress: bytes | None = None
        #: JSON.
        self._values: list[bytes] = []
        self._error: Exception | None = None
        self._sending = False

    def progress(self, members: bytes) -> None:
        """Sends members of JSON soon."""
        with self._changed:
            self._progress = members
            self._start()

    def write(self, value: bytes) -> None:
        """Sends JSON soon, after what was written before."""
        with self._changed:
            self._raise()
            self._values.append(value)
            self._start()

    def flush(self) -> None:
        """Waits until all is sent."""
        with self._changed:
            self._changed.wait_for(lambda: not self._sending)
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _start(self) -> None:
        if not self._sending:
            threading.Thread(target=self._send, daemon=True, name="paihao-reports").start()
            self._sending = True

    def _send(self) -> None:
        while True:
            with self._changed:
                progress, self._progress = self._progress, None
                values, self._values = self._values[:MAX_VALUES], self._values[MAX_VALUES:]
                if self._lease.lost or self._lease.over or (progress is None and not values):
                    self._values = []
                    self._sending = False
                    self._changed.notify_all()
                    return
            try:
                if values:
                    # Not twice, as the values may be stored although no answer came.
                    self._lease.say("output", b'"data":[%b]' % b",".join(values), fresh=True)
            except Exception as error:
                with self._changed:
                    self._error, self._values = error, []
            try:
                if progress:
                    self._lease.say("progress", progress)
            except Exception:
                pass  # The next one may arrive.
