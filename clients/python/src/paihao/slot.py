"""One of the places in which a worker runs a handler."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Callable

from .call import Call, Handler
from .connection import Connection
from .errors import PaihaoError
from .leases import PAUSE, Lease, may_pass, take
from .limit import Limit

log = logging.getLogger("paihao")

#: An answer without tasks that comes sooner than this is followed by a pause.
QUICK = 0.5


class Draining(Exception):
    """The worker takes no more tasks."""


class Slot(threading.Thread):
    """Takes tasks and runs the handler until it is drained, or a handler is left behind, with its thread.

    `left`: the call of the slot that this one replaces.
    """

    def __init__(
        self,
        connection: Connection,
        handler: Handler,
        name: str,
        loop: Callable[[], asyncio.AbstractEventLoop],
        left: Call | None = None,
    ) -> None:
        super().__init__(daemon=True, name=f"paihao-{name}")
        self._connection, self._handler, self._worker, self._loop = connection, handler, name, loop
        self._left = left
        self._taking = Limit()
        #: What it does at the moment.
        self.call: Call | None = None
        #: Why it has ended before it was drained.
        self.failure: BaseException | None = None

    def drain(self) -> None:
        """Takes no more tasks; ends after those that it has."""
        self._taking.stop(Draining())

    def successor(self) -> Slot:
        """A slot in its place, as its handler goes on although its tasks are over."""
        return Slot(self._connection, self._handler, self._worker, self._loop, self.call)

    def run(self) -> None:
        """Until it is drained, or refused."""
        try:
            if self._left is not None:
                self._left.abandon()
                self._left = None
            while True:
                began = time.monotonic()
                leases = self._take()
                if leases:
                    self.call = Call(self._handler, leases, self._loop)
                    if not self.call.run():
                        return
                    self.call = None
                # A server whose SYNC_LIMIT is 0, or a proxy, must not be asked all the time.
                elif time.monotonic() - began < QUICK:
                    self._taking.sleep(PAUSE)
        except Draining:
            return
        except BaseException as error:
            self.failure = error

    def _take(self) -> list[Lease]:
        """Raises Draining, and a PaihaoError that will not pass."""
        queue, body = self._handler.queue, {"worker": self._worker, **self._handler.wanted}
        # The same for repeated requests, so that tasks whose answer was lost are had again.
        request_id = uuid.uuid4().hex
        while True:
            try:
                return take(self._connection, queue, body, self._handler.batch_wait, request_id, self._taking)
            except PaihaoError as error:
                if not may_pass(error):
                    raise
                log.warning("could not ask for tasks of %s, trying again: %s", queue, error)
                self._taking.sleep(max(PAUSE, error.retry_after or 0.0))
