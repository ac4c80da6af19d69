/** Payments that run one at a time for each account, in order: `npx tsx examples/06-per-account-order/main.ts`. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler, start } from "paihao";
import { PaihaoClient } from "paihao/client";
import { z } from "zod";

const balances = new Map<string, number>();
const running = { now: 0, max: 0 };

/** Reads, waits, writes: two payments of one account at once would lose one, and a withdrawal must not overtake its deposit. */
const payments = defineHandler({
  queue: "payments",
  input: z.object({ account: z.string(), cents: z.int() }),
  concurrency: 8,
  keyed: { by: ({ account }) => account },
  async run({ account, cents }) {
    running.max = Math.max(running.max, ++running.now);
    const before = balances.get(account) ?? 0;
    await sleep(5 + Math.random() * 20);
    running.now -= 1;
    if (before + cents < 0) throw new Error(`${account} would be overdrawn`);
    balances.set(account, before + cents);
  },
});

await using server = await start({ handlers: [payments], port: 0, store: "embedded", logLevel: "warn" });
const client = new PaihaoClient<{ payments: typeof payments }>({ url: server.url });

// Each account gets 100, then pays out 30 three times: 10 are left, if the order is kept and nothing is lost.
const accounts = ["Ada", "Bob", "Cleo", "Dan"];
const inputs = [100, -30, -30, -30].flatMap((cents) => accounts.map((account) => ({ account, cents })));
const ids: string[] = [];
for await (const verdict of client.batch("payments", inputs)) {
  if (verdict.problem) throw new Error(verdict.problem.title);
  ids.push(verdict.id);
}
await Promise.all(ids.map((id) => client.result(id)));

for (const account of accounts) console.log(`${account.padEnd(6)} ${balances.get(account)}`);
console.log(`${ids.length} payments, at most ${running.max} at once`);
