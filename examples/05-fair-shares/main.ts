/** A line in which tenants take turns: `npx tsx examples/05-fair-shares/main.ts`. */
import { defineHandler, start } from "paihao";
import { PaihaoClient } from "paihao/client";
import { z } from "zod";

const started: string[] = [];

const reports = defineHandler({
  queue: "reports",
  input: z.object({ tenant: z.string(), page: z.int() }),
  concurrency: 1,
  fair: { by: ({ tenant }) => tenant, weight: (tenant) => (tenant === "gold" ? 2 : 1) },
  run: ({ tenant }) => {
    started.push(tenant);
  },
});

await using server = await start({ handlers: [reports], port: 0, store: "embedded", logLevel: "warn" });
const client = new PaihaoClient<{ reports: typeof reports }>({ url: server.url });

// The busy tenant comes first, with most of the work. No task starts before all are in line.
const arrival = [...Array(8).fill("busy"), ...Array(4).fill("gold"), ...Array(2).fill("small")];
await client.request("/v1/queues/reports/pause", { method: "POST" });
const ids: string[] = [];
const inputs = arrival.map((tenant, page) => ({ tenant, page }));
for await (const verdict of client.batch("reports", inputs)) {
  if (verdict.problem) throw new Error(verdict.problem.title);
  ids.push(verdict.id);
}
const { index } = await client.quote("reports", { tenant: "newcomer", page: 0 });
await client.request("/v1/queues/reports/resume", { method: "POST" });
await Promise.all(ids.map((id) => client.result(id)));

console.log(`arrived  ${arrival.join(" ")}`);
console.log(`started  ${started.join(" ")}`);
console.log(`a newcomer would have had ${index} of ${ids.length} tasks before theirs`);
