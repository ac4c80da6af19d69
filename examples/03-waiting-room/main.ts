/** A waiting room in a web page: `npx tsx examples/03-waiting-room/main.ts`. Ctrl-C ends it. */
import { setTimeout as sleep } from "node:timers/promises";
import { openRoom } from "./room.ts";

const room = await openRoom({
  settings: { store: "embedded" },
  serve: (task) => sleep(5000, undefined, { signal: task.signal }),
});
for (let visitor = 1; visitor <= 4; visitor += 1) await fetch(`${room.url}/tickets`, { method: "POST" });
console.log(`open ${room.url} in a browser: four people are before you`);
