"""Workers against a real server, through proxies with the faults of networks."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import tempfile
import threading
import time
import unittest
from typing import Any

from paihao import AsyncTask, Client, GiveUp, PaihaoError, Response, RetryLater, Task, TaskCanceled, TaskFailed, Worker

from .control import PROXY, SERVER, TCP_PROXY, ask, eventually, process, says, seen, treat, working

client = Client(SERVER)
# Its warnings are about the faults that the tests make.
logging.getLogger("paihao").setLevel(logging.CRITICAL)


class Handlers(unittest.TestCase):
    """What a handler gets, and what becomes of what it does."""

    def test_results_are_json_bytes_responses_or_nothing(self) -> None:
        worker = Worker(SERVER)
        made = {"json": {"排": [1]}, "bytes": b"\0\xff", "page": Response(b"<p>", "text/html", 201), "none": None}
        seen: list[Any] = []

        @worker.handler("remote")
        def remote(input: Any, task: Task) -> Any:
            seen.append((task.attempt, task.fence > 0, task.query))
            return input[::-1] if isinstance(input, bytes) else made[input]

        with working(worker):
            for name, value in made.items():
                self.assertEqual(client.run("remote", name, query={"a": "b"}), value)
            self.assertEqual(client.run("remote", b"\1\2", type="application/octet-stream"), b"\2\1")
        self.assertEqual(seen[0], (1, True, {"a": "b"}))

    def test_a_handler_gives_up_comes_back_later_or_fails(self) -> None:
        worker = Worker(SERVER)
        attempts: list[str] = []

        @worker.handler("remote")
        def remote(input: str, task: Task) -> Any:
            attempts.append(f"{input} {task.attempt}")
            if input == "give up":
                raise GiveUp("Not an image", 422, "it is a sound", format="wav")
            if input == "later" and attempts.count("later 1") < 2:
                raise RetryLater(0.01)
            if input == "unsendable":
                return {1, 2}
            if input == "fail":
                raise KeyError("nothing there")
            return "done"

        with working(worker):
            with self.assertRaises(TaskFailed) as failed:
                client.run("remote", "give up")
            problem = failed.exception.problem
            self.assertEqual((problem["title"], problem["status"], problem["format"]), ("Not an image", 422, "wav"))
            self.assertEqual(client.run("remote", "later"), "done")
            for name in ("fail", "unsendable"):
                with self.assertRaises(TaskFailed) as failed:
                    client.run("remote", name, id=name)
                self.assertEqual(failed.exception.code, "task-failed")
        self.assertIn("KeyError", ask("get", path="/v1/requests/fail/timeline")["text"])
        every = ["give up 1", "later 1", "later 1", "fail 1", "fail 2", "unsendable 1", "unsendable 2"]
        self.assertEqual(attempts, every)

    def test_what_is_too_large_fails_its_only_attempt_with_a_sentence(self) -> None:
        worker = Worker(SERVER)
        ran: list[int] = []

        @worker.handler("remote")
        def remote(input: int, task: Task) -> Any:
            ran.append(input)
            if input < 0:
                raise GiveUp("Too long", detail="x" * -input)
            return "x" * input

        with working(worker):
            for length in (17_000_000, 24_000_000, -17_000_000):
                with self.assertRaises(TaskFailed) as failed:
                    client.run("remote", length, timeout=60)
                self.assertEqual(failed.exception.code, "task-failed")
                self.assertRegex(failed.exception.problem["detail"], "has \\d+ bytes|larger than")
        self.assertEqual(ran, [17_000_000, 24_000_000, -17_000_000])

    def test_progress_and_output_reach_the_caller_in_order(self) -> None:
        worker = Worker(SERVER)

        @worker.handler("remote")
        def remote(input: Any, task: Task) -> int:
            for n in range(2500):
                task.write(n)
            task.progress(40, "nearly")
            time.sleep(0 if input is None else 0.01)
            return 1

        @worker.handler("remote-short")
        def verbose(input: Any, task: Task) -> None:
            task.write("x" * 2_000_000)

        with working(worker):
            written: list[Any] = []
            self.assertEqual(client.run("remote", None, on_output=written.append, id="written"), 1)
            self.assertEqual(written, list(range(2500)))
            with self.assertRaises(TaskFailed):
                client.run("remote-short", None, id="too-much")
        self.assertIn("MAX_OUTPUT", ask("get", path="/v1/requests/too-much/timeline")["text"])

    def test_a_call_of_many_tasks(self) -> None:
        worker = Worker(SERVER)
        calls: list[int] = []

        @worker.handler("remote-many", batch=32, batch_wait=0.05)
        def many(inputs: list[int], tasks: list[Task]) -> list[Any]:
            calls.append(len(inputs))
            return [GiveUp("Odd", 422) if n % 2 else n * 10 for n in inputs]

        ids = [verdict.id or "" for verdict in client.batch("remote-many", list(range(64)))]
        with working(worker):
            self.assertEqual([client.result(id) for id in ids[::2]], [n * 10 for n in range(0, 64, 2)])
            with self.assertRaises(TaskFailed):
                client.result(ids[1])
        self.assertEqual(sum(calls), 64)
        self.assertGreater(max(calls), 16)

    def test_a_cancel_and_a_deadline_are_told(self) -> None:
        worker = Worker(SERVER)
        began = threading.Event()
        reasons: list[Any] = []

        @worker.handler("remote", lease=2)
        def thread(input: Any, task: Task) -> Any:
            began.set()
            self.assertTrue(task.canceled.wait(30))
            reasons.append(task.canceled.reason)
            return "too late"

        @worker.handler("remote-many", slots=2, lease=2)
        async def coroutine(input: Any, task: AsyncTask) -> Any:
            began.set()
            await asyncio.wait_for(task.canceled.wait(), 30)
            reasons.append(task.canceled.reason)

        with working(worker):
            for queue in ("remote", "remote-many"):
                began.clear()
                task = client.submit(queue, None)
                self.assertTrue(began.wait(30))
                client.cancel(task)
                late = client.submit(queue, None, deadline=1.5)
                for each in (task, late):
                    with self.assertRaises(TaskCanceled):
                        client.result(each)
        self.assertEqual([reason for reason in reasons if reason == "canceled"], ["canceled"] * 2)
        self.assertEqual({*reasons}, {"canceled", "deadline"})

    def test_a_queue_that_does_not_exist_ends_the_worker(self) -> None:
        worker = Worker(SERVER)
        worker.handler("nowhere")(lambda input, task: None)
        with self.assertRaises(PaihaoError) as refused:
            worker.run()
        self.assertEqual(refused.exception.code, "unknown-queue")


class Faults(unittest.TestCase):
    """What becomes of tasks when workers, networks and proxies fail."""

    def setUp(self) -> None:
        treat()

    def test_lost_answers_lose_no_task_and_run_none_twice(self) -> None:
        for part in ("/leases", "/complete"):
            for how in ("lose", "break"):
                treat({"url": part, "how": how, "times": 2})
                worker = Worker(PROXY)
                ran: list[int] = []

                @worker.handler("remote")
                def remote(input: int, task: Task) -> int:
                    ran.append(input)
                    return input

                task = client.submit("remote", 7)
                with working(worker):
                    self.assertEqual(client.result(task, timeout=60), 7)
                self.assertEqual(ran, [7])
                if part == "/leases":
                    ids = [one["headers"]["x-request-id"] for one in seen(url=part)[:3]]
                    self.assertEqual(len(set(ids)), 1, "repeated under its id, it is given the same task at once")

    def test_a_server_that_answers_at_once_is_not_asked_all_the_time(self) -> None:
        treat({"url": "/leases", "how": {"status": 204}, "times": 1})
        worker = Worker(PROXY)
        worker.handler("remote")(lambda input, task: input)
        with working(worker):
            self.assertEqual(client.run("remote", 1), 1)
        first, second = [one["atMs"] for one in seen(url="/leases")][:2]
        self.assertGreater(second - first, 1000)

    def test_answers_that_are_not_from_paihao_neither_end_a_worker_nor_lose_a_result(self) -> None:
        foreign: list[dict[str, Any]] = [
            {"status": 302, "headers": {"Location": "/login"}},
            {"status": 403, "body": '{"message":"forbidden"}'},
            {"status": 404, "body": '{"type":"about:blank","title":"Not Found","status":404}'},
            {"status": 500, "body": '{"type":"https://example.org/oops","title":"Oops"}'},
            {"status": 500, "body": '{"type":"/problems/internal","title":"Oops"}'},
            {"status": 200, "body": "null"},
        ]
        for how in foreign:
            parts = ("/leases", "/renew", "/complete")
            treat(*({"url": part, "how": how, "times": 1} for part in reversed(parts)))
            worker = Worker(PROXY)
            ran: list[int] = []

            @worker.handler("remote", lease=2)
            def remote(input: int, task: Task) -> int:
                ran.append(input)
                eventually(lambda: len(seen(url="/renew")) > 1)
                return input

            task = client.submit("remote", 7)
            with working(worker):
                self.assertEqual(client.result(task, timeout=60), 7)
            self.assertEqual((ran, len(seen(url="/complete"))), ([7], 2), how)

    def test_a_result_that_a_proxy_does_not_let_through_is_a_failed_attempt(self) -> None:
        treat({"url": "/complete", "how": {"status": 413, "body": "<h1>"}})
        worker = Worker(PROXY)
        worker.handler("remote")(lambda input, task: input)
        with working(worker), self.assertRaises(TaskFailed) as failed:
            client.run("remote", 1)
        self.assertIn("HTTP 413: not from Paihao", failed.exception.problem["detail"])

    def test_output_is_neither_taken_for_written_nor_sent_twice_if_the_answer_is_lost(self) -> None:
        for how in ({"status": 200, "body": "<h1>"}, "lose"):
            treat({"url": "/output", "how": how, "times": 1})
            worker = Worker(PROXY)

            @worker.handler("remote")
            def remote(input: Any, task: Task) -> int:
                task.write(task.attempt)
                return task.attempt

            with working(worker):
                self.assertEqual((client.run("remote", None), len(seen(url="/output"))), (2, 2))

    def test_the_leases_of_a_call_are_renewed_at_the_same_time(self) -> None:
        treat({"url": "/renew", "how": "hang"})
        worker = Worker(PROXY)

        @worker.handler("remote-many", batch=60, batch_wait=1, lease=6)
        def many(inputs: list[int], tasks: list[Task]) -> list[int]:
            eventually(lambda: len(ask("open-requests", part="/renew")) > 25, 5)
            return inputs

        ids = [verdict.id or "" for verdict in client.batch("remote-many", range(60))]
        with working(worker):
            self.assertEqual([client.result(id) for id in ids], list(range(60)))

    def test_a_handler_is_told_that_its_lease_is_lost_while_no_server_answers(self) -> None:
        worker = Worker(PROXY)
        told: list[Any] = []

        @worker.handler("remote", lease=1)
        def stuck(input: Any, task: Task) -> str:
            treat({"how": "hang"})
            began = time.monotonic()
            task.canceled.wait(30)
            told.extend((task.canceled.reason, time.monotonic() - began))
            return "stale"

        task = client.submit("remote", None)
        with working(worker):
            eventually(lambda: told)
            treat()
            worker.stop()
        self.assertEqual((told[0], seen(url="/complete")), ("lost", []))
        self.assertLess(told[1], 10)
        client.cancel(task)

    def test_connections_that_freeze_or_are_cut_are_opened_again(self) -> None:
        worker = Worker(TCP_PROXY)
        worker.handler("remote")(lambda input, task: input)
        with working(worker):
            self.assertEqual(client.run("remote", 1), 1)
            ask("tcp", verb="cut")
            self.assertEqual(client.run("remote", 2), 2)
            lost = client.submit("remote", 3, delay=0.5)
            ask("tcp", verb="loseReply")
            self.assertEqual(client.result(lost, timeout=60), 3)

    def test_a_lease_is_renewed_while_the_handler_holds_the_cpu(self) -> None:
        worker = Worker(SERVER)
        fences: list[int] = []

        @worker.handler("remote", lease=3)
        def busy(input: float, task: Task) -> int:
            fences.append(task.fence)
            ends, count = time.monotonic() + input, 0
            while time.monotonic() < ends:
                count += 1
            return count

        with working(worker):
            self.assertGreater(client.run("remote", 5), 0)
        self.assertEqual(len(fences), 1)

    def test_a_worker_that_lost_its_lease_is_told_and_its_result_does_not_count(self) -> None:
        slow, other = Worker(PROXY), Worker(SERVER)
        began, told = threading.Event(), threading.Event()
        reasons: list[Any] = []

        @slow.handler("remote", lease=1)
        def stuck(input: Any, task: Task) -> str:
            began.set()
            task.canceled.wait(60)
            reasons.append(task.canceled.reason)
            told.set()
            return "stale"

        other.handler("remote")(lambda input, task: "taken over")
        task = client.submit("remote", None)
        with working(slow):
            self.assertTrue(began.wait(30))
            treat({"url": "/leases", "how": "hang"})
            with working(other):
                self.assertEqual(client.result(task, timeout=60), "taken over")
            treat()
            self.assertTrue(told.wait(60))
        self.assertEqual((reasons, seen(url="/complete")), (["lost"], []))
        self.assertEqual(client.result(task), "taken over")

    def test_a_task_of_a_killed_worker_is_finished_by_another(self) -> None:
        with tempfile.TemporaryDirectory() as folder, process("remote") as first:
            task = client.submit("remote", {"n": 5, "until": os.path.join(folder, "go")})
            self.assertEqual(says(first, "began"), f"began {task.id}")
            first.kill()
            first.wait()
            with process("remote") as second:
                self.assertEqual(says(second, "began"), f"began {task.id}")
                open(os.path.join(folder, "go"), "w").close()
                self.assertEqual(client.result(task), 5)

    def test_sigterm_finishes_what_it_has_and_takes_no_more(self) -> None:
        with tempfile.TemporaryDirectory() as folder, process("remote") as child:
            go = os.path.join(folder, "go")
            running = client.submit("remote", {"n": 1, "until": go})
            self.assertEqual(says(child, "began"), f"began {running.id}")
            child.send_signal(signal.SIGTERM)
            says(child, "stopping")
            later = client.submit("remote", {"n": 2})
            open(go, "w").close()
            self.assertEqual((says(child, "ended"), child.wait(30)), ("ended", 0))
            self.assertEqual((client.result(running), client.status(later).state), (1, "waiting"))
            client.cancel(later)

    def test_a_second_signal_gives_the_tasks_back(self) -> None:
        with tempfile.TemporaryDirectory() as folder, process("remote") as child:
            task = client.submit("remote", {"n": 3, "until": os.path.join(folder, "go")})
            self.assertEqual(says(child, "began"), f"began {task.id}")
            child.send_signal(signal.SIGTERM)
            says(child, "stopping")
            child.send_signal(signal.SIGTERM)
            self.assertEqual((says(child, "ended"), child.wait(30)), ("ended", 0))
            open(os.path.join(folder, "go"), "w").close()
            with process("remote") as other:
                self.assertEqual(says(other, "began"), f"began {task.id}")
                self.assertEqual((client.result(task), client.status(task).attempt), (3, 1))
