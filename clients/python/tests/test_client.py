"""The client against a real server, through a proxy with the faults of networks."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any

from paihao import Client, PaihaoError, Response, Status, SubmitOptions
from paihao import TaskCanceled, TaskExpired, TaskFailed, TaskUnknown
from paihao.connection import Connection
from paihao.follow import target_of

from .control import PROXY, SERVER, TCP_PROXY, Gate, ask, eventually, seen, treat

PROBLEM = '{"type":"/problems/%s","title":"No","status":%d}'


def names(state: str) -> list[str]:
    """The tasks of `gated` that have ended in a state."""
    return [task["id"] for task in ask("get", path="/v1/queues/gated/finished")["items"] if task["state"] == state]


class Requests(unittest.TestCase):
    """What a client does where nothing goes wrong."""

    client = Client(SERVER)

    def test_results_are_what_the_handler_returned(self) -> None:
        greeting = self.client.run("greet", {"name": "Ada"}, query={"lang": "en"})
        self.assertEqual((greeting["greeting"], greeting["query"]), ("Hello, Ada", {"lang": "en"}))
        self.assertEqual(self.client.run("mirror", b"\0\1\xff"), b"\xff\1\0")
        self.assertIsNone(self.client.run("nothing", {}))
        page = self.client.run("page", {"body": "<p>排", "type": "text/html"})
        self.assertEqual(page, Response("<p>排".encode(), "text/html"))
        redirect = self.client.run("elsewhere", "http://127.0.0.1:9/file")
        self.assertEqual(redirect, Response(b"", "", 303))
        self.assertEqual(redirect.headers["location"], "http://127.0.0.1:9/file")

    def test_place_progress_and_output_are_told(self) -> None:
        first, second = Gate(), Gate()
        blocking = self.client.submit("gated", first.input)
        first.entered()
        told: list[Any] = []

        def on_update(status: Status) -> None:
            told.append((status.state, status.index))
            if status.state == "waiting":
                first.open()
            if status.state == "running":
                second.open({"two": 2})

        self.assertEqual(self.client.run("gated", second.input, on_update=on_update), {"two": 2})
        self.assertEqual(told, [("waiting", 0), ("running", 0), ("succeeded", None)])
        self.assertEqual(list(self.client.watch(blocking))[-1].state, "succeeded")
        task = self.client.submit("words", {"words": ["a", "b"]})
        written = [(one.data, one.seq, one.run) for one in self.client.outputs(task)]
        self.assertEqual(written, [("a", 0, 1), ("b", 1, 1)])

    def test_errors_say_what_can_be_done(self) -> None:
        with self.assertRaises(TaskFailed) as failed:
            self.client.run("refusing", {"status": 422})
        self.assertEqual((failed.exception.problem["reason"], failed.exception.problem["status"]), ("test", 422))
        with self.assertRaises(PaihaoError) as refused:
            self.client.run("greet", {"name": ""})
        self.assertEqual((refused.exception.kind, refused.exception.code), ("refused", "invalid-input"))
        self.assertEqual(str(refused.exception).count("#/name"), 1, refused.exception)
        with self.assertRaises(TaskUnknown):
            self.client.result("nobody-knows-it")
        brief = self.client.submit("brief", {})
        eventually(lambda: self.client.status(brief).ended)

        def expired() -> bool:
            try:
                self.client.result(brief)
                return False
            except TaskExpired:
                return True

        eventually(expired)
        late = self.client.submit("greet", {"name": "Ada"}, delay=datetime.now(timezone.utc) + timedelta(hours=1))
        canceled = self.client.cancel(late)
        self.assertEqual(canceled and canceled.state, "canceled")
        with self.assertRaises(TaskCanceled):
            self.client.result(late)
        for wrong in ({"colour": "red"}, {"idempotency_key": "a b"}, {"id": "../x"}, {"type": "a/b\r\nX: y"}):
            with self.assertRaises((TypeError, ValueError)):
                self.client.submit("greet", {"name": "Ada"}, **wrong)  # type: ignore[arg-type]

    def test_quote_queues_and_batch(self) -> None:
        self.assertEqual(self.client.quote("greet", {"name": "Ada"}).index, 0)
        self.assertIn("greet", [queue["name"] for queue in self.client.queues()])
        people: list[object] = [{"name": f"n{n}"} for n in range(1200)]
        people[700] = {"name": ""}
        verdicts = list(self.client.batch("greet", people, priority=5, delay=3600))
        self.assertEqual([verdict.line for verdict in verdicts], list(range(1200)))
        self.assertEqual([verdict.line for verdict in verdicts if verdict.problem], [700])
        self.assertEqual(self.client.status(verdicts[0].id or "").state, "scheduled")

    def test_a_lone_surrogate_is_sent_as_json_writes_it(self) -> None:
        id = self.client.submit("greet", {"name": "\ud83d"}).id
        self.assertEqual(self.client.result(id)["greeting"], "Hello, \ud83d")
        self.assertEqual(len(list(self.client.batch("greet", [{"name": "\udc00"}] * 3))), 3)

    def test_the_key_goes_to_its_own_server_only(self) -> None:
        connection = Connection("http://127.0.0.1:3000/", "the-key", 1)
        for own in ("some-id", "/v1/requests/some-id/status", "/below/a-path/v1/requests/some-id"):
            self.assertIs(target_of(connection, own).connection, connection)
        for link in ("http://example.org/v1/requests/some-id", "/v1/requests/some-id?expires=1&signature=x"):
            self.assertEqual(target_of(connection, link).connection._key, "")
        for url in ("ftp://a", "http://user:password@a", "a"):
            with self.assertRaises(ValueError):
                Client(url)


class BadNetworks(unittest.TestCase):
    """What a client does where networks and proxies fail."""

    client = Client(PROXY)

    def setUp(self) -> None:
        treat()

    def test_lost_answers_never_run_twice(self) -> None:
        every: list[SubmitOptions] = [{}, {"id": "chosen"}, {"idempotency_key": "chosen-key"}]
        for options in every:
            gate = Gate()
            before = len(names("succeeded"))
            treat({"method": "P", "how": "lose", "times": 2})
            task = self.client.submit("gated", gate.input, **options)
            self.assertEqual((task.replayed, len(seen("P"))), (True, 3))
            gate.open("done")
            self.assertEqual(self.client.result(task), "done")
            self.assertEqual(len(names("succeeded")), before + 1)
            again = self.client.submit("gated", gate.input, **(options or {"id": task.id}))
            self.assertEqual((again.id, again.state, again.replayed), (task.id, "succeeded", True))

    def test_lost_answers_of_a_batch_never_run_twice(self) -> None:
        treat({"url": "/batches", "how": "lose", "times": 1}, {"url": "/batches", "how": "break", "times": 1})
        verdicts = list(self.client.batch("greet", [{"name": f"n{n}"} for n in range(50)], delay=3600))
        self.assertEqual([verdict.line for verdict in verdicts], list(range(50)))
        self.assertEqual(len({verdict.id for verdict in verdicts}), 50)

    def test_broken_answers_are_asked_for_again(self) -> None:
        treat({"method": "GET", "how": "break", "times": 2})
        data = bytes(n % 251 for n in range(100_000))
        self.assertEqual(self.client.run("mirror", data), data[::-1])

    def test_retry_after_is_waited_for_and_what_cannot_help_is_not_tried(self) -> None:
        treat({"how": {"status": 503, "headers": {"Retry-After": "1"}, "body": "<h1>"}, "times": 1})
        began = time.monotonic()
        self.client.submit("greet", {"name": "Ada"})
        self.assertGreaterEqual(time.monotonic() - began, 1)
        full = {"status": 503, "headers": {"Retry-After": "7"}, "body": PROBLEM % ("queue-full", 503)}
        treat({"how": full})
        with self.assertRaises(PaihaoError) as refused:
            self.client.submit("greet", {"name": "Ada"})
        self.assertEqual((refused.exception.kind, refused.exception.retry_after, len(seen())), ("refused", 7, 1))
        treat({"how": {"status": 502, "body": "<html>"}})
        with self.assertRaises(PaihaoError) as unreachable:
            Client(PROXY, attempts=2).queues()
        self.assertEqual((unreachable.exception.kind, len(seen())), ("unreachable", 2))

    def test_connections_are_kept_and_a_stale_one_costs_no_attempt(self) -> None:
        client = Client(PROXY, attempts=1)
        for _ in range(5):
            client.queues()
        self.assertEqual(len({one["port"] for one in seen()}), 1)
        treat({"how": "lose", "times": 1})
        client.queues()
        self.assertEqual(len({one["port"] for one in seen()}), 2)
        through = Client(TCP_PROXY, attempts=1)
        through.queues()
        ask("tcp", verb="cut")
        through.queues()

    def test_a_body_that_is_too_large_is_told_as_such(self) -> None:
        for length in (24_000_000, 3_000_000):
            with self.assertRaises(PaihaoError) as refused:
                Client(SERVER, attempts=1).submit("greet", {"name": "x" * length})
            self.assertEqual(refused.exception.code, "payload-too-large")

    def test_the_answer_of_a_server_that_does_not_read_the_body_is_read(self) -> None:
        body = (PROBLEM % ("payload-too-large", 413)).encode()
        answer = b"HTTP/1.1 413 No\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
        accepted: list[int] = []

        def serve(listener: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as connection:
                        accepted.append(len(connection.recv(65_536)))
                        connection.sendall(answer)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=serve, args=(listener,), daemon=True).start()
            with self.assertRaises(PaihaoError) as refused:
                Client(f"http://127.0.0.1:{listener.getsockname()[1]}").submit("greet", "x" * 24_000_000)
            listener.shutdown(socket.SHUT_RDWR)
        self.assertEqual((refused.exception.code, len(accepted)), ("payload-too-large", 1))

    def test_an_odd_answer_counts_as_none(self) -> None:
        for body in ("null", "{}", "[]", "[" * 100_000):
            treat({"how": {"status": 200, "body": body}, "times": 1}, {"how": {"status": 202, "body": body}, "times": 1})
            task = self.client.submit("greet", {"name": "Ada"})
            treat({"how": {"status": 200, "body": body}, "times": 1})
            self.assertEqual(self.client.status(task).queue, "greet")

    def test_a_cut_stream_continues_after_its_last_event(self) -> None:
        gate = Gate()
        heard: list[Any] = []
        states: list[str] = []

        def on_output(data: Any) -> None:
            heard.append(data)
            if len(heard) == 2:
                ask("cut", part="/events")

        def on_update(status: Status) -> None:
            states.append(status.state)

        task = self.client.submit("words", {"words": ["one", "two"], **gate.input})
        gate.entered()
        ask("open-when", **gate.input, header="last-event-id", value=2)
        result = self.client._follow(self.client._target(task), self.client._limit(None), on_update, on_output)
        self.assertEqual((result, heard, states), (2, ["one", "two"], ["running", "succeeded"]))
        self.assertEqual(seen(url="/status"), [])

    def test_long_polls_where_a_proxy_eats_the_events(self) -> None:
        for events in ({"status": 502, "body": "<html>"}, {"status": 406, "body": ""}, "reset", {"keepMs": 1500}):
            treat({"url": "/events", "how": events})
            gate = Gate()
            heard: list[Any] = []

            def on_output(data: Any) -> None:
                heard.append(data)
                if len(heard) == 2:
                    gate.open()

            result = self.client.run("words", {"words": ["a", "b"], **gate.input}, on_output=on_output)
            self.assertEqual((result, heard), (2, ["a", "b"]))
            self.assertTrue(any("if-none-match" in one["headers"] for one in seen(url="/status")))

    def test_a_timeout_cancels_the_task_unless_others_may_wait_for_it(self) -> None:
        for how in ("pass", "mute"):
            gate = Gate()
            treat({"method": "PUT", "how": how})
            began = time.monotonic()
            with self.assertRaises(TimeoutError):
                self.client.run("gated", gate.input, timeout=1)
            self.assertLess(time.monotonic() - began, 10)
            task = gate.entered()
            eventually(lambda: Client(SERVER).status(task).state == "canceled")
        gate = Gate()
        treat()
        with self.assertRaises(TimeoutError):
            self.client.run("gated", gate.input, timeout=1, idempotency_key="shared")
        task = gate.entered()
        gate.open("for all")
        self.assertEqual(self.client.result(task), "for all")

    def test_a_server_that_hangs_holds_nobody_up(self) -> None:
        treat({"how": "hang"})
        with self.assertRaises(TimeoutError):
            self.client.queues(timeout=0.5)
        with self.assertRaises(TimeoutError):
            next(self.client.watch("some-id", timeout=0.5))
