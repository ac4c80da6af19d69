"""The client for asyncio against a real server."""

from __future__ import annotations

import asyncio
import threading
import unittest
from collections.abc import AsyncIterator
from typing import Any

from paihao import AsyncClient, Client, TaskFailed

from .control import PROXY, SERVER, Gate, ask, eventually, seen, treat


class AsyncRequests(unittest.IsolatedAsyncioTestCase):
    """It does what the client does; only what differs is tested."""

    async def asyncSetUp(self) -> None:
        self.client = AsyncClient(PROXY)
        treat()

    async def test_many_calls_at_the_same_time(self) -> None:
        greetings = await asyncio.gather(*(self.client.run("greet", {"name": f"n{n}"}) for n in range(40)))
        self.assertEqual([one["greeting"] for one in greetings], [f"Hello, n{n}" for n in range(40)])
        with self.assertRaises(TaskFailed):
            await self.client.run("refusing", {"status": 422})
        self.assertIn("greet", [queue["name"] for queue in await self.client.queues()])
        self.assertEqual((await self.client.quote("greet", {"name": "Ada"})).index, 0)

    async def test_states_and_output_are_told_in_the_event_loop(self) -> None:
        gate = Gate()
        told: list[Any] = []

        def on_update(status: Any) -> None:
            self.assertIs(threading.current_thread(), threading.main_thread())
            told.append(status.state)

        running = asyncio.create_task(self.client.run("gated", gate.input, on_update=on_update, id="async-run"))
        await asyncio.to_thread(gate.entered)
        watched = []
        async for status in self.client.watch("async-run"):
            watched.append(status.state)
            gate.open(1)
        self.assertEqual(await running, 1)
        self.assertEqual((watched, told[-1]), (["running", "succeeded"], "succeeded"))
        words = await self.client.submit("words", {"words": ["a", "b"]})
        self.assertEqual([data async for data in self.client.output(words)], ["a", "b"])

    async def test_canceling_a_call_closes_its_connection_and_cancels_its_task(self) -> None:
        gate = Gate()
        running = asyncio.create_task(self.client.run("gated", gate.input))
        id = await asyncio.to_thread(gate.entered)
        watching = asyncio.create_task(self.client.result(id))
        await asyncio.to_thread(eventually, lambda: len(ask("open-requests", part="/events")) == 2)
        for call in (watching, running):
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
        await asyncio.to_thread(eventually, lambda: Client(SERVER).status(id).state == "canceled")
        await asyncio.to_thread(eventually, lambda: ask("open-requests", part="/events") == [])
        treat({"how": "hang"})
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.client.queues(), 0.3)
        await asyncio.to_thread(eventually, lambda: threading.active_count() < 4)

    async def test_a_batch_of_an_async_iterator(self) -> None:
        async def people() -> AsyncIterator[object]:
            for n in range(600):
                yield {"name": f"n{n}"}

        lines = [verdict.line async for verdict in self.client.batch("greet", people(), delay=3600)]
        self.assertEqual((lines, len(seen(url="/batches"))), (list(range(600)), 2))
