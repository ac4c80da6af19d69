/** How long a result may take, ms. */
const PATIENCE_MS = 20_000;

/** An answer of the API, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  readonly json: any;
}

export interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request of a caller, JSON both ways. */
export async function call(url: string, { method = "GET", body, headers }: Call = {}): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  const isJson = /^application\/(?:.*\+)?json$/.test(response.headers.get("content-type")?.replace(/;.*/, "") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}

/** Submits a task under an id; the answer comes at once. */
export function put(api: string, queue: string, id: string, input: unknown, options = ""): Promise<Answer> {
  const headers = { Prefer: "respond-async" };
  return call(`${api}/v1/queues/${queue}/requests/${id}${options}`, { method: "PUT", body: input, headers });
}

/** The answer with which the task ended. */
export async function collect(api: string, id: string): Promise<Answer> {
  for (const deadline = performance.now() + PATIENCE_MS; ; ) {
    const answer = await call(`${api}/v1/requests/${id}`, { headers: { Prefer: "wait=10" } });
    // A long poll is also answered when the state changes in another way.
    if (answer.json?.type !== "/problems/pending" || performance.now() > deadline) return answer;
  }
}

/** The monitor document. */
export async function statusOf(api: string, id: string): Promise<Answer["json"]> {
  return (await call(`${api}/v1/requests/${id}/status`)).json;
}
