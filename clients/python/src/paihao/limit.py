"""How long a thread may go on."""

from __future__ import annotations

import socket
import threading
import time


class Stopped(Exception):
    """The call was given up by another thread."""


class Limit:
    """Ends the request or the pause of a thread: when a time has passed, or when another thread stops it."""

    def __init__(self, seconds: float | None = None) -> None:
        self._ends: float | None = None
        self._stopped = threading.Event()
        self._reason: BaseException | None = None
        self._socket: socket.socket | None = None
        self.within(seconds)

    def within(self, seconds: float | None) -> None:
        """Starts the time; after it, `check` raises a TimeoutError. None: any time."""
        self._ends = None if seconds is None else time.monotonic() + seconds

    def stop(self, reason: BaseException) -> None:
        """Ends what the thread waits for; it raises the reason."""
        if self._reason is None:
            self._reason = reason
        self._stopped.set()
        self._shut()

    def check(self) -> None:
        """Raises the reason if it has been stopped, a TimeoutError if the time is up."""
        if self._reason is not None:
            raise self._reason
        if self._ends is not None and time.monotonic() >= self._ends:
            raise TimeoutError("the time is up")

    def left(self, seconds: float) -> float:
        """How much of so many seconds is left. Raises what `check` raises, and a TimeoutError for nothing left."""
        self.check()
        left = seconds if self._ends is None else min(seconds, self._ends - time.monotonic())
        if left <= 0:
            raise TimeoutError("the time is up")
        return left

    def sleep(self, seconds: float) -> None:
        """Pauses. Raises what `check` raises."""
        until = time.monotonic() + seconds
        if self._ends is not None:
            until = min(until, self._ends)
        self._stopped.wait(max(0.0, until - time.monotonic()))
        self.check()

    def hold(self, used: socket.socket | None) -> None:
        """The socket on which the thread waits; None after that."""
        self._socket = used
        # It may have been stopped in the meantime.
        if self._reason is not None:
            self._shut()

    def _shut(self) -> None:
        used = self._socket
        if used is not None:
            try:
                # Not that of an SSLSocket, which would change what the other thread reads from.
                socket.socket.shutdown(used, socket.SHUT_RDWR)
            except OSError:
                pass  # It has been closed.
