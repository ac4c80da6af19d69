"""What a handler reports while it works."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .errors import PaihaoError
from .leases import Leases, is_lost
from .limit import Limit
from .response import to_json

if TYPE_CHECKING:
    from .task import BaseTask

#: The largest number of values that are written in one request.
MAX_VALUES = 1000


class Reports:
    """Sends progress and output of a task, in a thread that starts with the first of them."""

    def __init__(self, leases: Leases, task: BaseTask) -> None:
        self._leases, self._task = leases, task
        self._changed = threading.Condition()
        self._progress: tuple[float, str] | None = None
        self._values: list[str] = []
        self._error: PaihaoError | None = None
        self._sending = False

    def progress(self, percent: float, message: str) -> None:
        """Sends it soon."""
        with self._changed:
            self._progress = (percent, message)
            self._start()

    def write(self, value: str) -> None:
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
            self._sending = True
            threading.Thread(target=self._send, daemon=True, name="paihao-reports").start()

    def _send(self) -> None:
        while True:
            with self._changed:
                progress, self._progress = self._progress, None
                values, self._values = self._values[:MAX_VALUES], self._values[MAX_VALUES:]
                if self._task.lost or (progress is None and not values):
                    self._sending = False
                    self._changed.notify_all()
                    return
            try:
                if values:
                    # Not again, as the values may be stored although no answer came.
                    self._say("output", f'"data":[{",".join(values)}]')
            except PaihaoError as error:
                with self._changed:
                    self._error, self._values = error, []
            try:
                if progress:
                    self._say("progress", f'"percent":{to_json(progress[0])},"message":{to_json(progress[1])}')
            except PaihaoError:
                pass  # The next one may arrive.

    def _say(self, verb: str, members: str) -> None:
        task = self._task
        try:
            self._leases.say(task.id, verb, f'{{"fence":{task.fence},{members}}}', Limit(), once=True)
        except PaihaoError as error:
            if is_lost(error):
                task.lose()
            raise
