"""What a handler can do to the worker that runs it: end its own attempts, and nothing else."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import sys
import threading
import time
import unittest
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from paihao import AsyncTask, Client, GiveUp, Response, RetryLater, Task, TaskCanceled, TaskFailed, Worker

from .control import SERVER, ask, eventually, process, working

client = Client(SERVER)
logging.getLogger("paihao").setLevel(logging.CRITICAL)


def throw(error: BaseException) -> Any:
    """Raises it."""
    raise error


def recurse() -> Any:
    """Never returns."""
    return recurse()


def nested(depth: int) -> Any:
    """A list in a list …"""
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


class Mute(Exception):
    """An error without a text."""

    def __init__(self, why: BaseException) -> None:
        super().__init__()
        self.why = why

    def __str__(self) -> str:
        raise self.why

    __repr__ = __str__


class Changed(Exception):
    """An intent whose checks are circumvented."""

    @staticmethod
    def of(intent: Any, **members: Any) -> Any:
        """Raises the intent."""
        intent.__dict__.update(members)
        raise intent


def circle() -> Any:
    """A list that contains itself."""
    made: list[Any] = []
    made.append(made)
    return made


#: What a handler does, and what is said of its attempt.
FAULTS: dict[str, tuple[Callable[[Task], Any], str]] = {
    "an error with a lone surrogate": (lambda task: throw(ValueError("half: \ud83d")), "ValueError: half"),
    "a long error": (lambda task: throw(ValueError("\U0001f600" * 3000)), "ValueError: "),
    "an error whose text raises": (lambda task: throw(Mute(KeyError())), "Mute, whose message cannot be read: KeyError"),
    "an error whose text exits": (lambda task: throw(Mute(SystemExit(3))), "Mute, whose message cannot be read: SystemExit"),
    "an error that is returned": (lambda task: KeyError("nothing"), "KeyError"),
    "an exit": (lambda task: sys.exit(3), "SystemExit: 3"),
    "an interrupt": (lambda task: throw(KeyboardInterrupt()), "KeyboardInterrupt"),
    "the end of a generator": (lambda task: throw(GeneratorExit()), "GeneratorExit"),
    "a stop of an iteration": (lambda task: throw(StopIteration()), "StopIteration"),
    "a recursion": (lambda task: recurse(), "RecursionError"),
    "later, infinitely": (lambda task: throw(RetryLater(math.inf)), "RetryLater: seconds is inf, expected"),
    "later, not a number": (lambda task: throw(RetryLater(math.nan)), "RetryLater: seconds is nan, expected"),
    "later, a timedelta": (
        lambda task: throw(RetryLater(timedelta(1))),  # type: ignore[arg-type]
        "RetryLater: seconds is datetime.timedelta",
    ),
    "later, in the past": (lambda task: throw(RetryLater(-5)), "RetryLater: seconds is -5, expected"),
    "later, changed": (lambda task: Changed.of(RetryLater(1), seconds=-5), "#/after"),
    "later, changed to infinite": (lambda task: Changed.of(RetryLater(1), seconds=math.inf), "cannot be sent"),
    "giving up with a wrong status": (lambda task: throw(GiveUp("No", status=99)), "GiveUp: status is 99, expected"),
    "giving up, changed": (lambda task: Changed.of(GiveUp("No"), problem={"status": 99}), "#/giveUp/status"),
    "giving up at length": (lambda task: throw(GiveUp("No" * 2000)), "#/giveUp/title"),
    "giving up with a set": (lambda task: throw(GiveUp("No", kinds={1})), "cannot be sent: TypeError"),
    "a set": (lambda task: {1}, "cannot be sent: TypeError"),
    "bytes in JSON": (lambda task: {"a": b"b"}, "cannot be sent: TypeError"),
    "a key that is not a string": (lambda task: {(1, 2): 3}, "cannot be sent: TypeError"),
    "an object": (lambda task: Mute(KeyError()).why.__class__, "cannot be sent: TypeError"),
    "a generator": (lambda task: (n for n in (1, 2)), "cannot be sent: TypeError"),
    "not a number": (lambda task: [math.nan], "cannot be sent: ValueError"),
    "a circle": (lambda task: circle(), "cannot be sent: ValueError"),
    "a huge number": (lambda task: 10**5000, "cannot be sent: ValueError"),
    "a number too large": (lambda task: [10**400], "#/result"),
    "a deep result": (lambda task: nested(5000), "cannot be sent: RecursionError"),
    "a result that is too deep for the server": (lambda task: nested(100), "nested deeper than 64"),
    "a response of text": (lambda task: Response("text", "text/plain"), "cannot be sent: TypeError"),  # type: ignore[arg-type]
    "a response of a wrong type": (lambda task: Response(b"", "a\r\nb"), "#/contentType"),
    "a response with headers": (lambda task: Response(b"", "text/plain", 200, {"a": "b"}), "cannot be sent: TypeError"),
    "a response of a wrong status": (lambda task: Response(b"", "text/plain", 99), "#/status"),
    "output that is not JSON": (lambda task: task.write({1}), "TypeError"),
    "progress that is not a number": (lambda task: task.progress("half"), "ValueError"),  # type: ignore[arg-type]
}



class Faults(unittest.TestCase):
    """Each attempt ends with a sentence, and the slot goes on."""

    def assert_fails(self, name: str) -> None:
        """Runs a task of a worker whose handlers do what FAULTS says; the input is the name."""
        for queue in ("remote", "remote-short", "remote-many"):
            with self.subTest(name, queue=queue), self.assertRaises(TaskFailed) as failed:
                task = client.submit(queue, name)
                client.result(task, timeout=20)
            self.assertEqual(failed.exception.code, "task-failed", name)
            text = ask("get", path=f"/v1/requests/{task.id}/timeline")["text"]
            self.assertIn(FAULTS[name][1], text, (name, queue))

    def test_whatever_a_handler_does_ends_its_attempt_with_a_sentence(self) -> None:
        worker = Worker(SERVER)

        @worker.handler("remote")
        def thread(input: str, task: Task) -> Any:
            return FAULTS[input][0](task) if input in FAULTS else input

        @worker.handler("remote-short")
        async def coroutine(input: str, task: Any) -> Any:
            await asyncio.sleep(0)
            return FAULTS[input][0](task) if input in FAULTS else input

        @worker.handler("remote-many", batch=2)
        def many(inputs: list[str], tasks: list[Task]) -> list[Any]:
            return [thread(input, task) for input, task in zip(inputs, tasks)]

        with working(worker):
            for name in FAULTS:
                self.assert_fails(name)
            for queue in ("remote", "remote-short", "remote-many"):
                self.assertEqual(client.run(queue, "fine", timeout=20), "fine")

    def test_a_result_that_cannot_be_sent_harms_no_other_of_its_call(self) -> None:
        worker = Worker(SERVER)

        @worker.handler("remote-many", batch=3, batch_wait=1)
        def many(inputs: list[str], tasks: list[Task]) -> Any:
            made = {"set": {1}, "deep": nested(5000), "fine": "fine", "endless": itertools.count()}
            return made["endless"] if "endless" in inputs else [made[input] for input in inputs]

        tasks = [client.submit("remote-many", name) for name in ("set", "deep", "fine")]
        with working(worker):
            self.assertEqual(client.result(tasks[2]), "fine")
            for task in [*tasks[:2], client.submit("remote-many", "endless")]:
                with self.assertRaises(TaskFailed):
                    client.result(task, timeout=30)

    def test_lone_surrogates_and_long_messages_reach_the_caller(self) -> None:
        worker = Worker(SERVER)

        @worker.handler("remote")
        def echo(input: str, task: Task) -> str:
            task.progress(50, input)
            task.progress(50, "\U0001f600" * 300)
            task.write(input)
            return input

        with working(worker):
            written: list[Any] = []
            self.assertEqual(client.run("remote", "\ud83d", on_output=written.append, timeout=20), "\ud83d")
            self.assertEqual(written, ["\ud83d"])


class Overdue(unittest.TestCase):
    """Handlers that go on after their signal."""

    def setUp(self) -> None:
        #: Ends the handlers that are left behind.
        self.end = threading.Event()
        self.addCleanup(self.end.set)

    def assert_times_out(self, queue: str) -> None:
        """Submits a task to it."""
        with self.assertRaises(TaskFailed) as failed:
            client.run(queue, None, timeout=20)
        self.assertEqual(failed.exception.code, "task-timeout")
        self.assertIn("longer than 500 ms", failed.exception.problem["detail"])

    def test_a_timeout_gives_the_slot_back_and_what_is_returned_later_does_not_count(self) -> None:
        worker = Worker(SERVER, grace=0.2)
        reasons: list[Any] = []
        threads: list[threading.Thread] = []

        @worker.handler("remote", lease=1, timeout=0.5)
        def stuck(input: Any, task: Task) -> str:
            threads.append(threading.current_thread())
            if task.attempt == 1:
                self.end.wait(30)
                reasons.append(task.canceled.reason)
            return f"attempt {task.attempt}"

        with working(worker):
            task = client.submit("remote", None)
            self.assertEqual(client.result(task, timeout=20), "attempt 2")
            self.end.set()
            eventually(lambda: not threads[0].is_alive())
            self.assertEqual(client.run("remote", None, id="third", timeout=20), "attempt 1")
        self.assertEqual((reasons, client.result(task)), (["timeout", None], "attempt 2"))

    def test_a_handler_that_stops_in_time_has_failed_too_and_keeps_its_thread(self) -> None:
        worker = Worker(SERVER, grace=20)
        threads: set[Any] = set()

        @worker.handler("remote", timeout=0.5)
        def late(input: Any, task: Task) -> str:
            threads.add(threading.current_thread())
            task.canceled.wait(30)
            return "late"

        @worker.handler("remote-many", batch=10, timeout=0.5)
        def many(inputs: list[Any], tasks: list[Task]) -> list[Any]:
            tasks[0].canceled.wait(30)
            raise GiveUp("late")

        with working(worker):
            self.assert_times_out("remote")
            self.assert_times_out("remote-many")
        self.assertEqual(len(threads), 1)

    def test_a_deadline_or_a_cancel_that_is_ignored_gives_the_slot_back(self) -> None:
        worker = Worker(SERVER, grace=0.2)
        began = threading.Event()

        @worker.handler("remote", slots=2, lease=1)
        def stuck(input: bool, task: Task) -> bool:
            if input:
                began.set()
                self.end.wait(30)
            return input

        with working(worker):
            late = client.submit("remote", True, deadline=1.5)
            canceled = client.submit("remote", True)
            self.assertTrue(began.wait(20))
            eventually(lambda: client.status(canceled).state == "running")
            client.cancel(canceled)
            for task in (late, canceled):
                with self.assertRaises(TaskCanceled):
                    client.result(task, timeout=20)
            self.assertFalse(client.run("remote", False, timeout=20))

    def test_a_task_of_a_call_that_is_canceled_waits_for_the_others(self) -> None:
        worker = Worker(SERVER, grace=0.2)

        @worker.handler("remote-many", batch=2, batch_wait=10, lease=1)
        def many(inputs: list[str], tasks: list[Task]) -> list[str]:
            client.cancel(tasks[0].id)
            tasks[0].canceled.wait(20)
            self.end.wait(1)
            return inputs

        ids = [client.submit("remote-many", name).id for name in "ab"]
        results: dict[str, Any] = {}
        with working(worker):
            for name, id in zip("ab", ids):
                try:
                    results[name] = client.result(id, timeout=20)
                except TaskCanceled:
                    results[name] = "canceled"
        self.assertIn(results, ({"a": "canceled", "b": "b"}, {"a": "a", "b": "canceled"}))

    def test_a_coroutine_is_canceled(self) -> None:
        worker = Worker(SERVER, grace=0.1)
        canceled: list[Any] = []
        ran: list[Any] = []

        @worker.handler("remote", timeout=0.5)
        async def asleep(input: Any, task: AsyncTask) -> None:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                canceled.append(task.canceled.reason)
                raise

        @worker.handler("remote-short", timeout=0.5)
        async def stubborn(input: Any, task: AsyncTask) -> Any:
            while input is None and task.attempt == 1 and not self.end.is_set():
                try:
                    await asyncio.sleep(30 if not task.canceled.is_set() else 0.05)
                except asyncio.CancelledError:
                    canceled.append("ignored")
            return task.attempt

        @worker.handler("remote-many", timeout=0.5, slots=2)
        async def blocking(input: Any, task: AsyncTask) -> int:
            ran.append(task.attempt)
            time.sleep(2 if input is None else 0)
            ran.append("ended")
            return task.attempt

        with working(worker):
            self.assert_times_out("remote")
            self.assertEqual(canceled, ["timeout"] * 2)
            self.assertEqual(client.run("remote-short", None, timeout=20), 2)
            self.assertEqual(canceled[2:], ["ignored"])
            self.assert_times_out("remote-many")
            eventually(lambda: "ended" in ran)
            self.assertEqual(client.run("remote-many", 1, timeout=20), 1)
        # While the event loop was blocked, the second attempt could not begin.
        self.assertEqual(ran, [1, "ended"] * 2)

    def test_more_handlers_left_behind_than_slots_end_the_worker(self) -> None:
        with process("remote", "0.5") as child:
            with self.assertRaises(TaskFailed) as failed:
                client.run("remote", {"until": "/nowhere/at/all"}, timeout=60)
            self.assertEqual((failed.exception.code, child.wait(30)), ("task-timeout", 1))
            assert child.stderr
            last = child.stderr.read().splitlines()[-1]
        self.assertEqual(
            last, "RuntimeError: 2 handlers go on after their tasks are over: only the end of the process ends them"
        )
