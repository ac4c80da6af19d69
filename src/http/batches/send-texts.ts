import type { ServerResponse } from "node:http";

/**
 * Sends texts as they come, then ends the response; never fails. Not a stream pipeline, which makes an AbortError with a stack
 * for every response.
 * @param maxBytes above which it waits for the client to read
 */
export async function sendTexts(res: ServerResponse, texts: AsyncIterable<string>, maxBytes: number): Promise<void> {
  // A write to a connection that has just closed; its "close" event follows.
  res.on("error", () => undefined);
  for await (const text of texts) {
    res.write(text);
    if (res.writableLength > maxBytes && !res.destroyed) await drained(res);
  }
  res.end();
}

/** Resolves when the client has read everything, or has gone. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off("drain", done).off("close", done);
      resolve();
    };
    res.on("drain", done).on("close", done);
  });
}
