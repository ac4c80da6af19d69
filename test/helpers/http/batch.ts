import { once } from "node:events";
import http, { type IncomingHttpHeaders } from "node:http";
import { linesOf } from "./lines.ts";

/** A batch that is being sent while its verdicts are read. */
export interface OpenBatch {
  /** Resolves with the head of the answer. */
  readonly head: Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }>;
  write(part: string | Buffer): void;
  /** Ends the body. */
  end(part?: string | Buffer): void;
  /** Drops the connection. */
  leave(): void;
  /** The next verdict; undefined after the last. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  next(): Promise<any>;
}

/** Begins a batch as a stream, of which each verdict that is read is held against the contract. */
export function openBatch(url: string, path: string, headers: Readonly<Record<string, string>> = {}): OpenBatch {
  const request = http.request(new URL(path, url), {
    method: "POST",
    agent: false,
    headers: { "Content-Type": "application/x-ndjson", ...headers },
  });
  // A dropped connection raises an error on its own socket.
  request.on("error", () => undefined);
  request.flushHeaders();
  const response = once(request, "response").then(([message]) => message as http.IncomingMessage);
  const lines = response.then((message) => linesOf(message, "POST", new URL(path, url).href, () => request.destroy()));
  for (const promise of [response, lines]) promise.catch(() => undefined);
  return {
    head: response.then(({ statusCode = 0, headers: sent }) => ({ status: statusCode, headers: sent })),
    write: (part) => void request.write(part),
    end: (part) => void request.end(part),
    leave: () => void request.destroy(),
    next: async () => (await lines).next(),
  };
}

/** The verdicts in a complete response. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function verdictsOf(text: string): any[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
