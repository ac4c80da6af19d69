"""The renewal of leases."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence

from .errors import PaihaoError
from .leases import AT_ONCE, Lease
from .limit import Limit

log = logging.getLogger("paihao")

#: When a lease is renewed, as a part of its length.
RENEWED_AFTER = 1 / 3
#: The pause after a renewal without an answer is this part of its length, at most so long.
SOON = 1 / 20
LONGEST_PAUSE = 1.0


class LeaseRenewer(threading.Thread):
    """Renews the leases of the tasks of one call: in a thread of its own, and in more if there are many."""

    def __init__(self, leases: Sequence[Lease]) -> None:
        super().__init__(daemon=True, name="paihao-lease-renewer")
        self._leases = leases
        self._ended = threading.Event()

    def stop(self) -> None:
        """The call has ended."""
        self._ended.set()

    def run(self) -> None:
        """Renews until the call has ended."""
        # Most calls end before the first renewal.
        first = min(map(_due, self._leases)) - time.monotonic()
        if self._ended.wait(min(first, self._leases[0].length)):
            return
        threads = min(len(self._leases), AT_ONCE)
        own = list(self._leases[::threads])
        for n in range(1, threads):
            part = self._leases[n::threads]
            try:
                threading.Thread(target=self._renew, args=(part,), daemon=True, name=self.name).start()
            except RuntimeError:
                own.extend(part)  # There cannot be more threads.
        self._renew(own)

    def _renew(self, leases: Sequence[Lease]) -> None:
        length = leases[0].length
        pause = 0.0
        # Not longer, as the next one may get an answer.
        allowed = max(0.5, length * RENEWED_AFTER)
        while pause < math.inf and not self._ended.wait(pause):
            renewed = [_is_renewed(lease, allowed) for lease in leases if _due(lease) <= time.monotonic()]
            left = min(map(_due, leases)) - time.monotonic()
            pause = max(0.0, left) if all(renewed) else min(length * SOON, LONGEST_PAUSE)


def _due(lease: Lease) -> float:
    """When it is to be renewed."""
    return math.inf if lease.lost or lease.over else lease.valid_until - lease.length * (1 - RENEWED_AFTER)


def _is_renewed(lease: Lease, seconds: float) -> bool:
    """Renews it; returns whether there was an answer."""
    why: object = "no answer in time"
    try:
        lease.renew(Limit(seconds))
        return True
    except PaihaoError as error:
        why = error
    except TimeoutError:
        pass
    if not lease.over:
        log.warning("could not renew the lease of %s: %s", lease.id, why)
    return lease.lost
