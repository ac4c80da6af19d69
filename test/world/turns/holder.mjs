// Waits for a turn and works, in a process of its own that a test can kill: `holder.mjs SERVER SEARCH RESOURCE NAME`.
import { setTimeout as delay } from "node:timers/promises";

const LOOK_MS = 100;
const [server, search, resource, name] = process.argv.slice(2);
const submitted = await fetch(`${server}/v1/queues/gpu/requests${search}`, {
  method: "POST",
  headers: { Prefer: "respond-async" },
});
const { id } = await submitted.json();
for (;;) {
  const { turn } = await (await fetch(`${server}/v1/requests/${id}/status`)).json();
  if (turn) await fetch(`${resource}/${name}?fence=${turn.fence}`, { method: "POST" });
  await delay(LOOK_MS);
}
