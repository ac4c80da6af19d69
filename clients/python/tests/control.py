"""What the tests say to the process that runs them, which has the server, the proxies and the gates: test/clients."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from paihao import Worker

#: The server, directly, and through its proxies.
SERVER = os.environ["PAIHAO_SERVER"]
PROXY = os.environ["PAIHAO_PROXY"]
TCP_PROXY = os.environ["PAIHAO_TCP_PROXY"]


def ask(verb: str, /, **members: Any) -> Any:
    """Asks it for something; returns its answer."""
    body = json.dumps(members).encode()
    with urllib.request.urlopen(f"{os.environ['PAIHAO_CONTROL']}/{verb}", body, timeout=60) as answer:
        return json.loads(answer.read())


def treat(*rules: dict[str, Any]) -> None:
    """What the proxy does with requests from now on, and forgets those that it has seen.

    A rule has `how`, and perhaps `method`, `url` (a part of it), and `times`.
    """
    ask("treat", rules=rules)


def seen(method: str = "", url: str = "") -> list[dict[str, Any]]:
    """The requests that the proxy has seen."""
    return [one for one in ask("seen") if method in one["method"] and url in one["url"]]


class Gate:
    """Lets a test decide when a task of the queue `gated` goes on."""

    def __init__(self) -> None:
        self.input = ask("gate")

    def entered(self) -> str:
        """Waits for the task; returns its id."""
        return str(ask("entered", **self.input))

    def open(self, value: Any = None) -> None:
        """Lets it finish with this value."""
        ask("open", **self.input, value=value)


@contextlib.contextmanager
def working(worker: Worker) -> Iterator[None]:
    """Runs a worker in a thread meanwhile."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a worker in a process meanwhile: see worker_process.py."""
    command = [sys.executable, "-m", "tests.worker_process", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def says(child: subprocess.Popen[str], begin: str) -> str:
    """The next line that it prints with this beginning."""
    assert child.stdout
    return next(line.strip() for line in child.stdout if line.startswith(begin))


def eventually(holds: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Waits until something holds; returns it."""
    ends = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > ends:
            raise AssertionError("it did not come to hold")
        time.sleep(0.02)
    return found
