/** A model that is fastest with many texts at once: `npx tsx examples/11-embeddings/main.ts`. */
import { setTimeout as delay } from "node:timers/promises";
import { defineHandler, giveUp, start } from "paihao";
import { PaihaoClient } from "paihao/client";
import { z } from "zod";

/** A call of the model takes this long, with one text or with 32, ms. */
const CALL_MS = 100;
const calls: number[] = [];

/** Stands for a model: hashes words into a vector of length 1; undefined for a text without words. */
async function vectorsOf(texts: readonly string[]): Promise<(number[] | undefined)[]> {
  calls.push(texts.length);
  await delay(CALL_MS);
  return texts.map((text) => {
    const vector = Array<number>(64).fill(0);
    for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
      let hash = 0;
      for (const letter of word) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 64;
      vector[hash] = (vector[hash] ?? 0) + 1;
    }
    const length = Math.hypot(...vector);
    return length === 0 ? undefined : vector.map((value) => value / length);
  });
}

const embed = defineHandler({
  queue: "embed",
  input: z.object({ text: z.string().max(8000) }),
  concurrency: 1,
  batch: { max: 32, wait: "50ms" },
  async run(inputs) {
    const vectors = await vectorsOf(inputs.map(({ text }) => text));
    return vectors.map((vector) => vector ?? giveUp({ status: 422, title: "There are no words in it" }));
  },
});

await using server = await start({ handlers: [embed], port: 0, store: "embedded", logLevel: "error" });
const client = new PaihaoClient<{ embed: typeof embed }>({ url: server.url });

const texts = ["the cat sat on the mat", "a cat sat on a mat", "shares fell sharply today"];
const [cat = [], otherCat = [], shares = []] = await Promise.all(texts.map((text) => client.run("embed", { text })));
const similarity = (a: number[], b: number[]) => a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0);
console.log(`the cats are alike: ${similarity(cat, otherCat) > similarity(cat, shares)}`);

const reason = await client.run("embed", { text: "…" }).catch((error: Error) => error.message);
console.log(`one text can fail alone: ${reason}`);

// Each text is a task of its own. Nothing starts before all are in line.
calls.length = 0;
await client.request("/v1/queues/embed/pause", { method: "POST" });
const ids: string[] = [];
const inputs = Array.from({ length: 100 }, (_, n) => ({ text: `${texts[n % 3]}, line ${n}` }));
for await (const verdict of client.batch("embed", inputs)) {
  if (verdict.problem) throw new Error(verdict.problem.title);
  ids.push(verdict.id);
}
await client.request("/v1/queues/embed/resume", { method: "POST" });
await Promise.all(ids.map((id) => client.result(id)));
console.log(`100 texts took ${calls.length} calls: ${calls.join(", ")}`);
