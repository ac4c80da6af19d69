import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler } from "paihao";
import { z } from "zod";

/** Time between two words, ms. */
const WORD_MS = 60;

const tale = (about: string) =>
  `Once upon a time there was ${about}. It took a number, looked at the line, and waited. Nobody pushed. When its turn came, it said what it had to say, one word after the other, and everyone who wanted to hear it heard it at once.`;

/** Tells a tale word by word, as a language model would; the result is the whole text. */
export const words = defineHandler({
  queue: "words",
  concurrency: 1,
  // Whoever has closed the page does not keep others waiting.
  presence: "30s",
  input: z.strictObject({ about: z.string().min(1).max(200) }),
  async run({ about }, task) {
    const text = tale(about);
    for (const word of text.split(" ")) {
      task.signal.throwIfAborted();
      void task.write(word);
      await sleep(WORD_MS);
    }
    return { text };
  },
});
