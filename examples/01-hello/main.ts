/** One queue, one task: `npx tsx examples/01-hello/main.ts`. */
import { defineHandler, start } from "paihao";
import { PaihaoClient } from "paihao/client";
import { z } from "zod";

const greet = defineHandler({
  queue: "greet",
  input: z.object({ name: z.string().max(80) }),
  run: ({ name }) => ({ text: `Hello, ${name}!` }),
});

// A server with its own store, in this process; it stops when the program ends.
await using server = await start({ handlers: [greet], port: 0, store: "embedded", logLevel: "warn" });

const client = new PaihaoClient<{ greet: typeof greet }>({ url: server.url });
const task = await client.submit("greet", { name: "Ada" });
console.log(`${task.index} before you`);

const { text } = await client.result(task);
console.log(text);
