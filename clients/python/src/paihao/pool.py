"""The connections that are kept to be used again."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import time
import weakref
from collections import deque

#: How many are kept, and for how long: servers close those that are idle for longer, Node's after 5 s.
MAX = 32
SECONDS = 4.0


class Pool:
    """Connections that were answered, to be used again. Any number of threads may use it."""

    def __init__(self) -> None:
        # Not under a lock, which a forked process might inherit locked.
        self._connections: deque[tuple[http.client.HTTPConnection, float, int]] = deque()
        weakref.finalize(self, _close, self._connections)

    def take(self) -> http.client.HTTPConnection | None:
        """The one used last, unless the server has closed it."""
        while self._connections:
            try:
                used, until, process = self._connections.pop()
            except IndexError:
                break
            # Those of the parent process are not this one's.
            if process == os.getpid() and time.monotonic() < until and _is_idle(used.sock):
                return used
            used.close()
        return None

    def give(self, used: http.client.HTTPConnection) -> None:
        """Keeps a connection whose last answer has been read."""
        self._connections.append((used, time.monotonic() + SECONDS, os.getpid()))
        if len(self._connections) > MAX:
            with contextlib.suppress(IndexError):
                self._connections.popleft()[0].close()


def _close(connections: deque[tuple[http.client.HTTPConnection, float, int]]) -> None:
    while connections:
        connections.pop()[0].close()


def _is_idle(used: socket.socket) -> bool:
    """Whether there is nothing to read: neither the end, nor what nobody asked for."""
    used.setblocking(False)
    try:
        # Not that of an SSLSocket, which cannot peek.
        socket.socket.recv(used, 1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        pass  # It has been reset.
    return False
