"""Turns against a real server, through a proxy with the faults of networks, and with a server that is killed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

from paihao import AsyncClient, AsyncTurn, Client, PaihaoError, Status, TaskCanceled, TaskFailed, Turn

from .control import PROXY, SERVER, Gate, ask, eventually, seen, treat

client = Client(SERVER)
logging.getLogger("paihao").setLevel(logging.CRITICAL)


def state_of(id: str) -> str:
    """The state of a task."""
    return client.status(id).state


@contextmanager
def in_a_thread(call: Any) -> Iterator[None]:
    """Runs something in a thread meanwhile, and waits for its end."""
    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        thread.join()


class Turns(unittest.TestCase):
    """What happens while a turn is waited for, held and left."""

    def setUp(self) -> None:
        treat()

    def test_one_at_a_time_in_order_with_rising_fences(self) -> None:
        inside: list[str] = []
        fences: list[int] = []

        def work(name: str) -> None:
            with Client(PROXY).turn("gpu", label=name) as turn:
                inside.append(name)
                fences.append(turn.fence)
                self.assertEqual(len(inside), 1)
                inside.clear()

        with client.turn("gpu") as first:
            threads = []
            for n in range(5):
                threads.append(threading.Thread(target=work, args=(f"n{n}",)))
                threads[-1].start()
                eventually(lambda: ask("get", path="/v1/queues/gpu")["waiting"] == n + 1)
            self.assertEqual(fences, [])
        for thread in threads:
            thread.join()
        self.assertEqual(fences, sorted(set(fences)))
        self.assertEqual(len(fences), 5)
        self.assertLess(first.fence, fences[0])
        finished = ask("get", path="/v1/queues/gpu/finished")["items"][:5]
        self.assertEqual([one["label"] for one in reversed(finished)], [f"n{n}" for n in range(5)])
        self.assertEqual({one["state"] for one in finished}, {"succeeded"})

    def test_place_and_result(self) -> None:
        told: list[Any] = []
        held = threading.Event()

        def hold() -> None:
            with client.turn("gpu"):
                held.set()
                eventually(lambda: told)

        def on_update(status: Status) -> None:
            told.append((status.state, status.index))

        with in_a_thread(hold):
            held.wait()
            with client.turn("gpu", {"of": "mine"}, on_update=on_update) as turn:
                self.assertIsInstance(turn, Turn)
                turn.result = {"loss": 0.5}
        self.assertEqual((told[0], told[-1][0]), (("waiting", 0), "running"))
        self.assertEqual(client.result(turn.id), {"loss": 0.5})
        with client.turn("brief-turns") as brief:
            now = datetime.now(timezone.utc)
            self.assertLess(abs(brief.since - now), timedelta(seconds=10))
            self.assertEqual(brief.ends_at, brief.since + timedelta(seconds=2))
            self.assertTrue(brief.until and brief.until > brief.since)
            self.assertFalse(brief.lost.is_set())
        self.assertIsNone(client.result(brief.id))

    def test_a_result_is_waited_for_while_the_turn_is_held(self) -> None:
        results: list[Any] = []
        with client.turn("gpu") as turn:
            thread = threading.Thread(target=lambda: results.append(client.result(turn.id)))
            thread.start()
            eventually(lambda: ask("get", path=f"/v1/requests/{turn.id}/status")["state"] == "running")
            turn.result = 42
        thread.join()
        self.assertEqual(results, [42])

    def test_a_program_that_starts_again_goes_on_with_its_turn(self) -> None:
        before = client.submit("gpu", None, id="deployment-7")
        self.assertEqual((before.state, before.presence), ("running", 30))
        with client.turn("gpu", id="deployment-7") as turn:
            self.assertEqual((turn.id, turn.lost.is_set()), ("deployment-7", False))
        self.assertEqual(state_of("deployment-7"), "succeeded")
        with self.assertRaises(PaihaoError):
            with client.turn("gpu", id="deployment-7"):
                self.fail("it is over")

    def test_a_block_that_raises_gives_it_up(self) -> None:
        error = KeyError("mine")
        with self.assertRaises(KeyError) as raised:
            with client.turn("gpu") as turn:
                raise error
        self.assertIs(raised.exception, error)
        self.assertEqual(state_of(turn.id), "canceled")
        with self.assertRaises(TypeError):
            with client.turn("gpu") as turn:
                turn.result = {1}
        self.assertEqual(state_of(turn.id), "canceled")

    def test_a_lost_turn_is_told_at_once_and_raises_why(self) -> None:
        with self.assertRaises(TaskCanceled):
            with client.turn("gpu") as turn:
                client.cancel(turn.id)
                self.assertTrue(turn.lost.wait(10))
        with self.assertRaises(TaskFailed) as failed:
            with client.turn("brief-turns") as turn:
                self.assertTrue(turn.lost.wait(10))
        self.assertEqual(failed.exception.code, "task-timeout")
        with self.assertRaises(PaihaoError) as over:
            with client.turn("gpu") as turn:
                ask("post", path=f"/v1/requests/{turn.id}/done", body={"by": "another"})
                self.assertTrue(turn.lost.wait(10))
        self.assertEqual((over.exception.kind, over.exception.problem["title"]), ("refused", "The turn is over"))
        self.assertEqual(client.result(turn.id), {"by": "another"})

    def test_a_turn_lost_at_the_last_moment_raises_why(self) -> None:
        through = Client(PROXY)
        with self.assertRaises(TaskCanceled):
            with through.turn("gpu") as turn:
                treat({"method": "GET", "url": "/status", "how": "hang"})
                ask("cut", part="/status")
                client.cancel(turn.id)

    def test_what_raises_in_the_wait_leaves_the_line(self) -> None:
        ids: list[str] = []

        def interrupt(status: Status) -> None:
            ids.append(status.id)
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

        def fail(status: Status) -> None:
            ids.append(status.id)
            raise LookupError

        def note(status: Status) -> None:
            ids.append(status.id)

        with client.turn("gpu"):
            with self.assertRaises(KeyboardInterrupt):
                with client.turn("gpu", on_update=interrupt):
                    self.fail("it is not its turn")
            with self.assertRaises(LookupError):
                with client.turn("gpu", on_update=fail):
                    self.fail("it is not its turn")
            with self.assertRaises(TimeoutError):
                with client.turn("gpu", on_update=note, timeout=0.5):
                    self.fail("it is not its turn")
            self.assertEqual([state_of(id) for id in ids], ["canceled"] * 3)

    def test_a_timeout_is_for_the_wait_alone(self) -> None:
        with client.turn("gpu", timeout=1) as turn:
            self.assertFalse(turn.lost.wait(1.2))
        self.assertEqual(state_of(turn.id), "succeeded")

    def test_a_queue_with_a_handler_has_no_turns(self) -> None:
        gate = Gate()
        with self.assertRaises(ValueError):
            with client.turn("gated", gate.input):
                self.fail("it has no turns")
        eventually(lambda: state_of(gate.entered()) == "canceled")
        with self.assertRaises(PaihaoError):
            with client.turn("greet", {"name": "Ada"}):
                self.fail("it has no turns")


class BadNetworks(unittest.TestCase):
    """What holds where answers are lost, and servers away."""

    client = Client(PROXY)

    def setUp(self) -> None:
        treat()

    def test_lost_answers_submit_once_and_end_once(self) -> None:
        before = len(ask("get", path="/v1/queues/gpu/finished")["items"])
        treat({"method": "PUT", "how": "lose", "times": 2}, {"method": "POST", "how": "lose", "times": 2})
        with self.client.turn("gpu") as turn:
            turn.result = "once"
        self.assertEqual((len(seen("PUT")), len(seen("POST"))), (3, 3))
        self.assertEqual(client.result(turn.id), "once")
        self.assertEqual(len(ask("get", path="/v1/queues/gpu/finished")["items"]), before + 1)

    def test_it_is_kept_by_looks(self) -> None:
        with self.client.turn("gpu", presence=5) as turn:
            first = turn.until
            eventually(lambda: len(seen(url="/status")) >= 5)
            self.assertTrue(turn.until and first and turn.until - first > timedelta(seconds=2))
            times = [one["atMs"] for one in seen(url="/status")]
            self.assertTrue(all(500 < later - one < 2000 for one, later in zip(times[1:], times[2:])), times)
            self.assertFalse(turn.lost.is_set())
        self.assertEqual(state_of(turn.id), "succeeded")

    def test_the_work_goes_on_while_the_server_cannot_be_reached(self) -> None:
        page = "<html>"
        faults = [("reset", 2), ({"status": 502, "body": page}, 2), ({"status": 404, "body": page}, 2), ("hang", 1)]
        for how, looks in faults:
            treat()
            with self.client.turn("gpu", presence=9) as turn:
                treat({"how": how})
                ask("cut", part="/status")
                eventually(lambda: len(seen(url="/status")) >= looks)
                treat()
                eventually(lambda: len(seen(url="/status")) >= 2)
                self.assertFalse(turn.lost.is_set())
            self.assertEqual(state_of(turn.id), "succeeded", how)

    def test_places_and_turns_survive_a_server_that_is_killed(self) -> None:
        url = ask("start")
        order: list[str] = []
        called = threading.Event()

        def wait() -> None:
            with Client(url).turn("gpu", on_update=lambda status: order.append(status.state)):
                order.append("called")
                called.set()

        with Client(url).turn("gpu") as turn:
            thread = threading.Thread(target=wait)
            thread.start()
            eventually(lambda: order == ["waiting"])
            ask("kill")
            ask("start", url=url)
            self.assertEqual(Client(url).status(turn.id).state, "running")
            self.assertFalse(called.is_set() or turn.lost.is_set())
            ask("kill")
            restart = threading.Timer(1, lambda: ask("start", url=url))
            restart.start()
        restart.join()
        self.assertEqual(Client(url).status(turn.id).state, "succeeded")
        self.assertTrue(called.wait(30))
        thread.join()
        ask("kill")
        self.assertEqual(order, ["waiting", "running", "called"])


class AsyncTurns(unittest.IsolatedAsyncioTestCase):
    """What differs for asyncio."""

    async def asyncSetUp(self) -> None:
        self.client = AsyncClient(PROXY)
        treat()

    async def test_one_at_a_time_and_told_in_the_event_loop(self) -> None:
        inside: list[int] = []
        told: list[str] = []

        def on_update(status: Status) -> None:
            self.assertIs(threading.current_thread(), threading.main_thread())
            told.append(status.state)

        async def work(n: int) -> str:
            async with self.client.turn("gpu", on_update=on_update) as turn:
                self.assertIsInstance(turn, AsyncTurn)
                inside.append(n)
                await asyncio.sleep(0)
                self.assertEqual(inside, [n])
                inside.clear()
                turn.result = n
            return turn.id

        ids = await asyncio.gather(*(work(n) for n in range(10)))
        self.assertEqual([await self.client.result(id) for id in ids], list(range(10)))
        self.assertGreaterEqual(told.count("running"), 10)
        await asyncio.to_thread(eventually, lambda: threading.active_count() < 4)

    async def test_a_cancel_leaves_the_line_or_gives_the_turn_up(self) -> None:
        ids: list[str] = []

        async def wait() -> None:
            async with self.client.turn("gpu", on_update=lambda status: ids.append(status.id)):
                self.fail("it is not its turn")

        async with self.client.turn("gpu") as turn:
            waiting = asyncio.create_task(wait())
            while not ids:
                await asyncio.sleep(0.02)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertEqual((await self.client.status(ids[0])).state, "canceled")

        async def hold() -> None:
            async with self.client.turn("gpu") as held:
                ids.append(held.id)
                await asyncio.Event().wait()

        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(hold(), 1)
        self.assertEqual((await self.client.status(ids[-1])).state, "canceled")
        self.assertEqual((await self.client.status(turn.id)).state, "succeeded")

    async def test_a_block_that_raises_and_a_lost_turn(self) -> None:
        error = KeyError("mine")
        with self.assertRaises(KeyError) as raised:
            async with self.client.turn("gpu") as turn:
                raise error
        self.assertIs(raised.exception, error)
        self.assertEqual((await self.client.status(turn.id)).state, "canceled")
        with self.assertRaises(TaskCanceled):
            async with self.client.turn("gpu") as turn:
                await self.client.cancel(turn.id)
                await asyncio.wait_for(turn.lost.wait(), 10)
        with self.assertRaises(ValueError):
            async with self.client.turn("gated", Gate().input):
                self.fail("it has no turns")
