/** A queue whose work is done in Python: `npx tsx examples/08-python-worker/main.ts`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { defineHandler, start } from "paihao";
import { PaihaoClient } from "paihao/client";
import { z } from "zod";

const primes = defineHandler({
  queue: "primes",
  input: z.object({ upTo: z.int().min(2).max(10_000) }),
  // No slots in this process: the tasks wait for workers over HTTP.
  concurrency: 0,
  run: (): number[] => [],
});

await using server = await start({ handlers: [primes], port: 0, store: "embedded", logLevel: "warn" });
const worker = spawn("python3", [`${import.meta.dirname}/worker.py`], {
  env: { ...process.env, PAIHAO_URL: server.url, PYTHONPATH: `${import.meta.dirname}/../../clients/python/src` },
  stdio: ["ignore", "inherit", "inherit"],
});
await once(worker, "spawn");

const client = new PaihaoClient<{ primes: typeof primes }>({ url: server.url });
const found = await client.run("primes", { upTo: 30 }, { onOutput: (prime) => console.log("found", prime) });
console.log(found.join(" "));

worker.kill();
await once(worker, "exit");
