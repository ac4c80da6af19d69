import { join } from "node:path";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { ROOT } from "../../shared/root.ts";

const HANDLERS = join(ROOT, "test/fixtures/handlers/mcp");

/** A server with the handlers of the tests of tools. */
export const startTools = (env: Readonly<Record<string, string>> = {}): Promise<TestServer> =>
  startServer({ HANDLERS, ...env });

// biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
type Json = any;

/** What a request was answered with. */
export interface Response {
  readonly status: number;
  readonly headers: Headers;
  /** The response; undefined if there was none. */
  readonly message: Json;
  readonly result: Json;
  readonly error: Json;
  /** The notifications before it. */
  readonly told: readonly Json[];
}

/** Sends one message. */
export type Send = (
  method: string,
  params?: Readonly<Record<string, unknown>>,
  sent?: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
    readonly id?: number | null;
  },
) => Promise<Response>;

let requests = 0;
const nextId = (): number => {
  requests += 1;
  return requests;
};

/** Sends a body as it is. */
export async function post(
  server: Pick<TestServer, "url">,
  body: string,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  const accept = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    body,
    headers: { ...accept, ...headers },
    signal,
  });
  const text = await response.text();
  const isEvents = response.headers.get("content-type") === "text/event-stream";
  const messages: Json[] = isEvents
    ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data))
    : [text === "" ? undefined : JSON.parse(text)];
  const message = messages.pop();
  return {
    status: response.status,
    headers: response.headers,
    message,
    result: message?.result,
    error: message?.error,
    told: messages,
  };
}

/** A client of the revision 2025-11-25, which has a session. */
export function olderClient(server: Pick<TestServer, "url">, given: Readonly<Record<string, string>> = {}): Send {
  return (method, params = {}, { headers, signal, id = nextId() } = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...(id !== null && { id }), method, params });
    return post(server, body, { "MCP-Protocol-Version": "2025-11-25", ...given, ...headers }, signal);
  };
}

/** A client of the revision 2026-07-28. @param extensions that it declares */
export function modernClient(
  server: Pick<TestServer, "url">,
  given: Readonly<Record<string, string>> = {},
  extensions: object = { "io.modelcontextprotocol/tasks": {} },
): Send {
  return (method, params = {}, { headers, signal, id = nextId() } = {}) => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": { extensions },
      ...(params._meta as object),
    };
    const name = String(params.name ?? params.taskId ?? "");
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } });
    const required = {
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(name !== "" && { "Mcp-Name": name }),
    };
    return post(server, body, { ...required, ...given, ...headers }, signal);
  };
}
