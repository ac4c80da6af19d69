"""A worker in a process of its own: `python -m tests.worker_process QUEUE [TIMEOUT]`.

Its handler returns `input["n"]`, once the file `input["until"]` exists if there is one. It says on stdout what it does.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any

from paihao import Task, Worker

from .control import SERVER

logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.INFO)
worker = Worker(SERVER, grace=0.2)


@worker.handler(sys.argv[1], lease=2, timeout=float(sys.argv[2]) if len(sys.argv) > 2 else None)
def stay(input: Any, task: Task) -> Any:
    """Stays until it is let go."""
    print("began", task.id, flush=True)
    while "until" in input and not os.path.exists(input["until"]):
        time.sleep(0.02)
    return input["n"]


worker.run(drain=60)
print("ended", flush=True)
