"""Canceling tasks."""

from __future__ import annotations

import threading

from .connection import Answer, Request
from .errors import PaihaoError
from .follow import Target
from .limit import Limit
from .status import Status, status_of

#: How long a call that was given up waits for its task to be canceled.
CANCEL = 0.5
#: How long, and how often, a thread of its own tries that.
FAREWELL = 10.0
MAX_TRIES = 9


def cancel(task: Target, headers: dict[str, str], limit: Limit) -> Status | None:
    """Cancels a task, or deletes its result if it has ended: then the answer is None. Raises PaihaoError, TimeoutError."""

    def read(answer: Answer) -> Status | None:
        return None if answer.status == 204 else status_of(answer.json())

    # Without the signature of a link, which only allows reading.
    return task.connection.send(task.path, Request("DELETE", headers), read, limit)


def abandon(task: Target) -> None:
    """Cancels a task unless it has ended; its submission may still be under way. Goes on in a thread if that takes long."""
    thread = threading.Thread(target=_abandon, args=(task,))
    thread.start()
    thread.join(CANCEL)


def _abandon(task: Target) -> None:
    """A DELETE would delete the result of a task that has ended, so it names the version of the pending one. Never raises."""
    limit = Limit(FAREWELL)

    def read(answer: Answer) -> tuple[bool, str | None]:
        return status_of(answer.json()).ended, answer.headers.get("ETag")

    for tried in range(MAX_TRIES):
        try:
            limit.sleep(0.2 * tried)
            ended, tag = task.connection.send(task.to("/status"), Request(), read, limit)
            if not ended:
                cancel(task, {"If-Match": tag} if tag else {}, limit)
            return
        except PaihaoError:
            pass  # It has not been accepted yet, or has a newer version.
        except TimeoutError:
            return
