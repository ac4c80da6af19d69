/** Tasks that nobody has to submit: `npx tsx examples/12-by-the-clock/main.ts`. */
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, start } from "paihao";
import { z } from "zod";

const made: string[] = [];

const digest = defineHandler({
  queue: "digest",
  input: z.object({ of: z.string() }),
  schedules: {
    nightly: { cron: "0 3 * * *", timeZone: "Europe/Berlin", input: { of: "the day" } },
    often: { every: "1s", input: { of: "a second" } },
  },
  run: ({ of }) => {
    made.push(of);
  },
});

await using server = await start({ handlers: [digest], port: 0, store: "embedded", logLevel: "warn" });
const answer = await fetch(new URL("/v1/schedules/digest.nightly", server.url));
const { next } = (await answer.json()) as { next: [string] };
const time = new Date(next[0]).toLocaleTimeString("de-DE", { timeZone: "Europe/Berlin" });
console.log(`that of the day is made at ${time} in Berlin`);

while (made.length < 2) await delay(100);
for (const of of made.slice(0, 2)) console.log(`made a digest of ${of}`);
