"""A turn: a task whose work its caller does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from datetime import datetime, timedelta
from typing import Any


class BaseTurn:
    """What all turns have."""

    lost: threading.Event | asyncio.Event

    def __init__(self, document: dict[str, Any]) -> None:
        turn: dict[str, Any] = document["turn"]
        self.id: str = document["id"]
        self.queue: str = document["queue"]
        #: Rises with every turn of the queue, so that a resource can refuse a holder whose turn is over.
        self.fence: int = turn["fence"]
        self.since: datetime = _time(turn["since"])
        #: When it fails, whatever its holder does; None if it may last for any time.
        self.ends_at = _time_or_none(turn["endsAt"])
        #: When it is given up, counted from the latest look; None if it needs none.
        self.until = _time_or_none(turn["until"])
        #: What it leaves at the end of the block, as JSON; None for nothing.
        self.result: Any = None

    def kept(self, turn: dict[str, Any] | None, seconds: float) -> None:
        """It was kept by a look, so many seconds after the one before, which was answered with this, or with nothing new."""
        if turn is not None:
            self.until = _time_or_none(turn["until"])
        elif self.until is not None:
            self.until += timedelta(seconds=seconds)

    def lose(self) -> None:
        """It is over, before the block is."""
        raise NotImplementedError


class Turn(BaseTurn):
    """A turn that has been called. It is kept while the block runs; `lost` is set if it is over before the block is."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        self.lost: threading.Event = threading.Event()

    def lose(self) -> None:
        """It is over, before the block is."""
        self.lost.set()


class AsyncTurn(BaseTurn):
    """The same for asyncio."""

    def __init__(self, document: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(document)
        self.lost: asyncio.Event = asyncio.Event()
        self._loop = loop

    def lose(self) -> None:
        """It is over, before the block is."""
        with contextlib.suppress(RuntimeError):  # The loop has been closed.
            self._loop.call_soon_threadsafe(self.lost.set)


def _time(text: str) -> datetime:
    # Before Python 3.11, Z is not read.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _time_or_none(text: str | None) -> datetime | None:
    return None if text is None else _time(text)
