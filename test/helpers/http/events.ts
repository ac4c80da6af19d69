import { once } from "node:events";
import http, { type IncomingHttpHeaders } from "node:http";
import { assertContract } from "./contract.ts";

/** One event as an EventSource would see it. */
export interface StreamEvent {
  readonly name: string;
  /** Undefined where the event sets none. */
  readonly id: string | undefined;
  readonly data: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  readonly json: any;
}

/** An open stream of events. */
export interface EventReader {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received, as it was received. */
  readonly text: string;
  /** The next event; rejects when the server closes without one. */
  next(): Promise<StreamEvent>;
  /** Events until one of this name, that included. */
  until(name: string): Promise<StreamEvent[]>;
  /** Resolves when the server has closed. */
  readonly closed: Promise<unknown>;
  /** Drops the connection. */
  close(): void;
}

/**
 * Opens a stream of events and reads it as WHATWG HTML §9.2.6 says.
 * @throws Error when its head, or an event once that is read, breaks the contract
 */
export async function readEvents(
  url: string,
  headers: Record<string, string> = {},
  { method = "GET", body }: { method?: string; body?: unknown } = {},
): Promise<EventReader> {
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  const accepted = { Accept: "text/event-stream", ...json, ...headers };
  const request = http.request(url, { method, agent: false, headers: accepted });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  response.setEncoding("utf8");
  const { statusCode: status = 0, headers: sent } = response;
  const { pathname, search } = new URL(url);
  /** Holds the head and a part of the stream against the contract. */
  const check = (part: string) =>
    assertContract(method, pathname + search, {
      status,
      headers: sent,
      body: Buffer.from(part),
      text: part,
      json: null,
    });
  if (status < 400) await check("");
  const events: { readonly text: string; readonly seen: StreamEvent }[] = [];
  let text = "";
  let parsed = 0;
  let wake: () => void = () => undefined;
  let open = true;
  response.on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n\n", parsed); end >= 0; end = text.indexOf("\n\n", parsed)) {
      const block = text.slice(parsed, end);
      const seen = eventOf(block);
      if (seen) events.push({ text: `${block}\n`, seen });
      parsed = end + 2;
    }
    wake();
  });
  const closed = new Promise((resolve) => response.once("close", resolve)).then(() => {
    open = false;
    wake();
  });
  response.on("error", () => undefined);
  const next = async (): Promise<StreamEvent> => {
    for (;;) {
      const event = events.shift();
      if (event) {
        await check(event.text);
        return event.seen;
      }
      if (!open) throw new Error("the stream was closed");
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    status,
    headers: sent,
    get text() {
      return text;
    },
    next,
    async until(name) {
      const seen: StreamEvent[] = [];
      do seen.push(await next());
      while (seen.at(-1)?.name !== name);
      return seen;
    },
    closed,
    close: () => request.destroy(),
  };
}

function eventOf(block: string): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  return { name: fields.get("event") ?? "message", id: fields.get("id"), data, json: JSON.parse(data) };
}
