import { once } from "node:events";
import http, { type IncomingHttpHeaders } from "node:http";
import { createInterface } from "node:readline";
import { assertContract } from "./contract.ts";

/** An answer in lines of JSON that is read as it comes, each line held against the contract. */
export interface OpenLines {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly response: http.IncomingMessage;
  /** The next line; undefined after the last, and where the answer broke off. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  next(): Promise<any>;
  /** What is left, until the server ends the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  rest(): Promise<any[]>;
  /** Whether it has come to its end. */
  isComplete(): boolean;
  /** Drops the connection. */
  close(): void;
}

/** Asks for lines, and begins to read them. */
export async function openLines(url: string, headers: Readonly<Record<string, string>> = {}): Promise<OpenLines> {
  const request = http.get(url, { agent: false, headers });
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  // A server that breaks off raises an error on the response.
  response.on("error", () => undefined);
  return linesOf(response, "GET", url, () => request.destroy());
}

/** Reads the lines of an answer to this request. */
export function linesOf(response: http.IncomingMessage, method: string, url: string, close: () => void): OpenLines {
  const { statusCode: status = 0, headers } = response;
  const { pathname, search } = new URL(url);
  const reader = createInterface({ input: response });
  // One that breaks off has no end, but an error.
  response.once("close", () => reader.close());
  const lines = reader[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value: text } = await lines.next().catch(() => ({ done: true, value: "" }));
    if (done) return undefined;
    await assertContract(method, pathname + search, { status, headers, body: Buffer.from(text), text, json: null });
    return JSON.parse(text);
  };
  return {
    ...{ status, headers, response, next, close },
    isComplete: () => response.complete,
    async rest() {
      const all = [];
      for (let line = await next(); line !== undefined; line = await next()) all.push(line);
      return all;
    },
  };
}
