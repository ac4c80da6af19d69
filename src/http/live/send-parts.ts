import type { ServerResponse } from "node:http";

/**
 * Sends the parts of a response as they come, each once the client has read those before it, then ends it. Not a stream pipeline, which
 * makes an AbortError with a stack for every response.
 * @param format the text of a part
 * @param maxBytes what may wait for the client before the next part is asked for
 * @throws what the parts throw
 */
export async function sendParts<Part>(
  res: ServerResponse,
  parts: AsyncIterable<Part> | Iterable<Part>,
  format: (part: Part) => string,
  maxBytes = 0,
): Promise<void> {
  // A write to a connection that has just closed; its "close" event follows.
  res.on("error", () => undefined);
  for await (const part of parts) {
    if (res.writableEnded) return;
    res.write(format(part));
    if (res.writableNeedDrain && res.writableLength > maxBytes && !res.destroyed) await drained(res);
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
