import type { ServerResponse } from "node:http";

/**
 * Sends the parts of an answer as they come, then ends the response. Not a stream pipeline, which makes an AbortError with a stack for
 * every response.
 * @param format the text of a part
 * @param maxBytes above which it waits for the client to read
 * @throws what the parts throw
 */
export async function sendParts<Part>(
  res: ServerResponse,
  parts: AsyncIterable<Part> | Iterable<Part>,
  format: (part: Part) => string,
  maxBytes: number,
): Promise<void> {
  // A write to a connection that has just closed; its "close" event follows.
  res.on("error", () => undefined);
  for await (const part of parts) {
    res.write(format(part));
    if (res.writableLength > maxBytes && !res.destroyed) await drained(res);
    if (res.destroyed) return;
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
