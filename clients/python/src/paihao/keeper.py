"""The renewal of leases."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from .errors import PaihaoError
from .leases import Leases, is_lost
from .limit import Limit
from .response import to_json
from .task import BaseTask

log = logging.getLogger("paihao")

#: When a lease is renewed, as a part of its length.
RENEWED_AFTER = 1 / 3
#: The pause after a renewal without an answer is this part of its length, at most so long.
SOON = 1 / 20
LONGEST_PAUSE = 1.0


class Keeper(threading.Thread):
    """Renews the leases of the tasks of one call, in a thread of its own, and tells them that they are canceled or lost."""

    def __init__(self, leases: Leases, tasks: Sequence[BaseTask]) -> None:
        super().__init__(daemon=True, name="paihao-keeper")
        self._leases, self._tasks = leases, tasks
        self._length: float = min(task.document["leaseSeconds"] for task in tasks)
        self._ended = threading.Event()

    def stop(self) -> None:
        """The call has ended."""
        self._ended.set()

    def run(self) -> None:
        """Renews until the call has ended."""
        pause = self._length * RENEWED_AFTER
        while not self._ended.wait(pause):
            began = time.monotonic()
            if all([self._renew(task) for task in self._tasks if not (task.lost or task.reported)]):
                pause = max(0.0, began + self._length * RENEWED_AFTER - time.monotonic())
            else:
                pause = min(self._length * SOON, LONGEST_PAUSE)

    def _renew(self, task: BaseTask) -> bool:
        """Renews the lease; returns whether there was an answer."""
        # Not longer, as the next one may get an answer.
        limit = Limit(max(0.5, self._length * RENEWED_AFTER))
        try:
            renewal = self._leases.say(task.id, "renew", to_json({"fence": task.fence}), limit, once=True)
        except PaihaoError as error:
            if is_lost(error):
                task.lose()
                return True
            log.warning("could not renew the lease of %s: %s", task.id, error)
            return False
        except TimeoutError:
            log.warning("could not renew the lease of %s: no answer in time", task.id)
            return False
        if renewal["cancelRequested"]:
            task.cancel(renewal["reason"])
        return True
