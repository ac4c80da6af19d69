import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A server that speaks as OpenAI's API and as Ollama do, and says a word at a time. */
export interface ModelServer {
  readonly url: string;
  readonly port: number;
  /** What it was asked, but for lists of models, as `model: the last message`; how many answers it finished, and how many callers left before. */
  readonly asked: string[];
  readonly finished: () => number;
  readonly aborted: () => number;
  /** The headers of the latest request. */
  readonly headers: () => IncomingMessage["headers"];
  stop(): Promise<void>;
}

/** What it is asked. A model of the name `error-429` answers with that status, `dies` breaks its answer off. */
interface Question {
  readonly model?: string;
  readonly stream?: boolean;
  readonly messages?: readonly { readonly content: unknown }[];
  readonly prompt?: string;
}

const WORDS = ["All", " of", " this", " takes", " its", " time."] as const;

/** Starts one. @param tokenMs pause before each word */
export async function startModelServer({ port = 0, tokenMs = 20 } = {}): Promise<ModelServer> {
  const asked: string[] = [];
  const count = { finished: 0, aborted: 0 };
  let headers: IncomingMessage["headers"] = {};
  const server = createServer(async (req, res) => {
    headers = req.headers;
    if (req.method === "OPTIONS") return void res.writeHead(204).end();
    if (req.method === "GET") return json(res, 200, modelsOf(req.url ?? ""));
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const question = JSON.parse(Buffer.concat(chunks).toString()) as Question;
    asked.push(`${question.model}: ${question.prompt ?? question.messages?.at(-1)?.content}`);
    res.once("close", () => {
      count[res.writableFinished ? "finished" : "aborted"] += 1;
    });
    const status = /^error-(\d+)$/.exec(question.model ?? "")?.[1];
    const isOllama = req.url?.startsWith("/api/") === true;
    const error = isOllama ? "as asked" : { message: "as asked", type: "test" };
    if (status !== undefined) return json(res, Number(status), { error });
    await (isOllama ? answerAsOllama : answerAsOpenai)(question, res, tokenMs);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${address.port}`, port: address.port, asked },
    finished: () => count.finished,
    aborted: () => count.aborted,
    headers: () => headers,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The words of an answer, one after the other, until its caller leaves. */
async function* wordsFor({ model }: Question, res: ServerResponse, tokenMs: number) {
  for (const [n, word] of WORDS.entries()) {
    await sleep(tokenMs);
    if (res.destroyed) return;
    if (model === "dies" && n > 2) return void res.destroy();
    yield word;
  }
}

async function answerAsOpenai(question: Question, res: ServerResponse, tokenMs: number): Promise<void> {
  const common = { id: "chatcmpl-1", created: 1, model: question.model };
  if (question.stream) res.writeHead(200, { "Content-Type": "text/event-stream" });
  let text = "";
  for await (const content of wordsFor(question, res, tokenMs)) {
    text += content;
    const choice = { index: 0, delta: { role: "assistant", content }, finish_reason: null };
    if (question.stream) res.write(event({ ...common, object: "chat.completion.chunk", choices: [choice] }));
  }
  if (res.destroyed) return;
  if (question.stream) {
    const choice = { index: 0, delta: {}, finish_reason: "stop" };
    res.write(event({ ...common, object: "chat.completion.chunk", choices: [choice] }));
    res.end("data: [DONE]\n\n");
    return;
  }
  const choice = { index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" };
  const usage = { prompt_tokens: 1, completion_tokens: WORDS.length, total_tokens: 1 + WORDS.length };
  json(res, 200, { ...common, object: "chat.completion", choices: [choice], usage });
}

async function answerAsOllama(question: Question, res: ServerResponse, tokenMs: number): Promise<void> {
  const saying = (content: string, done: boolean) => {
    const said = question.prompt === undefined ? { message: { role: "assistant", content } } : { response: content };
    return { model: question.model, created_at: new Date(0).toISOString(), ...said, done };
  };
  const isStream = question.stream !== false;
  if (isStream) res.writeHead(200, { "Content-Type": "application/x-ndjson" });
  let text = "";
  for await (const word of wordsFor(question, res, tokenMs)) {
    text += word;
    if (isStream) res.write(`${JSON.stringify(saying(word, false))}\n`);
  }
  if (res.destroyed) return;
  if (isStream) res.end(`${JSON.stringify(saying("", true))}\n`);
  else json(res, 200, saying(text, true));
}

const modelsOf = (path: string) =>
  path.startsWith("/api/")
    ? { models: [{ name: "small" }] }
    : { object: "list", data: [{ id: "small", object: "model", created: 1, owned_by: "test" }] };

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
