"""Keeping a turn."""

from __future__ import annotations

import logging
import threading
import time

from .cancel import CANCEL
from .errors import PaihaoError
from .follow import POLL, Target, poll
from .limit import Limit, Stopped
from .turn import BaseTurn

log = logging.getLogger("paihao")

#: A look takes this part of the presence, and may be answered so much later.
LOOK = 1 / 3
LATE = 1 / 3
#: The pause after a look without an answer, or with one that came at once, is this part of it, at most so long.
SOON = 1 / 20
LONGEST_PAUSE = 1.0


class TurnKeeper(threading.Thread):
    """Keeps a turn by looks at it, each a long poll that ends early if the turn does.

    Only what the server says ends a turn: while it cannot be reached, the work goes on.
    """

    def __init__(self, task: Target, turn: BaseTurn, presence: float) -> None:
        super().__init__(daemon=True, name="paihao-turn-keeper")
        self._task, self._turn, self._presence = task, turn, presence
        self._limit = Limit()
        #: Whether its holder is ending it.
        self.ending = False
        #: Whether it is over, before its holder has ended it.
        self.lost = False

    def stop(self) -> None:
        """Ends it, also in the middle of a look."""
        self._limit.stop(Stopped())
        self.join(CANCEL)

    def run(self) -> None:
        """Looks until it is stopped, or the turn is over."""
        try:
            self._keep()
        except Stopped:
            return
        if not self.ending:
            self.lost = True
            log.warning("the turn %s of %s is lost", self._turn.id, self._turn.queue)
            self._turn.lose()

    def _keep(self) -> None:
        """Until the turn is over. Raises Stopped."""
        kept = time.monotonic()
        tag = ""
        is_away = False
        while True:
            began = time.monotonic()
            # The first look, and one after a fault, is to be answered at once.
            wait = min(POLL, max(1, int(self._presence * LOOK))) if tag else 0
            try:
                self._limit.within(wait + max(1.0, self._presence * LATE))
                found = poll(self._task, wait, {"If-None-Match": tag} if tag else {}, self._limit)
                turn = None
                if found is not None:
                    turn, tag = found[0].get("turn"), found[1]
                    if turn is None or turn["fence"] != self._turn.fence:
                        return
                self._turn.kept(turn, began - kept)
                kept = began
                if is_away:
                    log.warning("the turn %s is kept again", self._turn.id)
                is_away = False
                is_early = not tag or time.monotonic() - began < wait / 2
            except (PaihaoError, TimeoutError) as error:
                if isinstance(error, PaihaoError) and error.kind in ("unknown", "expired"):
                    return
                if not is_away:
                    log.warning("could not keep the turn %s, trying on: %s", self._turn.id, error)
                is_away, is_early, tag = True, True, ""
            self._limit.within(None)
            if is_early:
                self._limit.sleep(min(LONGEST_PAUSE, self._presence * SOON))
