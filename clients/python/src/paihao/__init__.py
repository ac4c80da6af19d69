"""A client of Paihao servers, and workers for them. Times are seconds."""

from .async_client import AsyncClient
from .client import Client
from .errors import PaihaoError, TaskCanceled, TaskExpired, TaskFailed, TaskUnknown
from .intents import GiveUp, RetryLater
from .response import Response
from .status import Accepted, Output, Quote, Status, Verdict
from .submission import SubmitOptions
from .task import AsyncTask, Task
from .turn import AsyncTurn, Turn
from .worker import Worker

__all__ = [
    "Accepted",
    "AsyncClient",
    "AsyncTask",
    "AsyncTurn",
    "Client",
    "GiveUp",
    "Output",
    "PaihaoError",
    "Quote",
    "Response",
    "RetryLater",
    "Status",
    "SubmitOptions",
    "Task",
    "TaskCanceled",
    "TaskExpired",
    "TaskFailed",
    "TaskUnknown",
    "Turn",
    "Verdict",
    "Worker",
]
