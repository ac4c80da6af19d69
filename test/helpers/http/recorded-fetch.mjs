// Records the answers that `fetch` gets in this process, once they are whole: an answer that is cut off or left is none. Node loads this
// before a program whose answers are to be recorded in the file RECORD_ANSWERS; a test imports it and listens to the channel.
import diagnostics from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";

const answers = diagnostics.channel("answers of fetch");
const file = process.env.RECORD_ANSWERS;
if (file !== undefined) answers.subscribe((answer) => appendFileSync(file, `${JSON.stringify(answer)}\n`));

const { fetch } = globalThis;
globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init);
  // Other tests of this process get the answers as they are.
  if (!answers.hasSubscribers) return response;
  const { url, status } = response;
  const parts = [];
  const record = () => {
    const body = Buffer.concat(parts).toString("base64");
    const headers = Object.fromEntries(response.headers);
    answers.publish({ method: init?.method ?? "GET", url, status, headers, body });
  };
  if (response.body === null) {
    record();
    return response;
  }
  const transform = (part, to) => {
    parts.push(part);
    to.enqueue(part);
  };
  const recorded = new Response(response.body.pipeThrough(new TransformStream({ transform, flush: record })), response);
  return Object.defineProperty(recorded, "url", { value: url });
};
