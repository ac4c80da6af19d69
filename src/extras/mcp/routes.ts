import { randomUUID } from "node:crypto";
import type { Context } from "koa";
import { z } from "zod";
import { watchedTasks } from "../../engine/watch/watch.ts";
import { Watchers } from "../../engine/watch/watchers.ts";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../../http/api.ts";
import { weightOf } from "../../http/request/accept.ts";
import { accessOf } from "../../http/request/access.ts";
import { readJson } from "../../http/request/body.ts";
import { type Route, WATCH } from "../../http/route.ts";
import { EVENTS, eventText } from "../../http/server/streams.ts";
import { packageVersion } from "../../version.ts";
import {
  awaitResult,
  type Call,
  callTool,
  cancelRequest,
  cancelTask,
  getTask,
  type HeldAnswer,
  updateTask,
} from "./calls.ts";
import { idOf, LEGACY, type Message, RpcError, readMessage, TASKS, VERSIONS } from "./message.ts";
import { toolsOf } from "./tools.ts";

/** What a model should know of all tools. */
const INSTRUCTIONS =
  "Each tool is a queue of work: a call waits in line, and tells how many are before it. One that takes longer answers with a task_id: call check_task to go on waiting.";

const SERVER = { name: "paihao", version: packageVersion() };

/** A list is for one caller, since scopes decide what is in it; it changes when a server with other handlers starts. */
const CACHED = { ttlMs: 60_000, cacheScope: "private" } as const;

/** Queues as tools: each request is one message, and nothing is kept between them. */
export function mcpRoutes(api: Api): readonly Route[] {
  const watchers = new Watchers(watchedTasks(api.engine), {
    onError: (error) => api.log.debug({ err: error }, "mcp: could not read the watched tasks; trying again later"),
  });
  const schema = { type: "object" };
  return [
    {
      ...{ name: "mcp", method: "POST", path: "/mcp", scopes: WATCH, tag: "MCP" },
      summary: "Queues as tools: the Model Context Protocol",
      description: `Streamable HTTP without sessions, one JSON-RPC message a request; revisions ${VERSIONS.join(", ")}.`,
      body: { required: true, content: { "application/json": { schema } } },
      answers: {
        "200": {
          description: "The response; or events: notifications of progress, then the response.",
          content: { "application/json": { schema }, "text/event-stream": {} },
        },
        "202": { description: "A notification, which has no response." },
      },
      run: (ctx) => answer(ctx, api, watchers),
    },
  ];
}

async function answer(ctx: Context, api: Api, watchers: Watchers): Promise<void> {
  let id: Message["id"];
  let message: Message | undefined;
  try {
    const body = await readJson(ctx.req, z.unknown(), api.maxBodyBytes);
    id = idOf(body);
    message = readMessage(ctx, body);
    const { isModern } = message;
    const call = { ...message, ctx, api, watchers };
    if (id === undefined) {
      if (message.method === "notifications/cancelled") await cancelRequest(call);
      ctx.body = null;
      ctx.status = 202;
      return;
    }
    const result = await resultTo(call);
    const response = (of: object) => ({
      jsonrpc: "2.0",
      id,
      result: isModern ? { resultType: "complete", ...of, _meta: INFO } : of,
    });
    if (Symbol.asyncIterator in result) await replyHeld(ctx, api, result, response);
    else ctx.body = response(result);
  } catch (error) {
    replyError(ctx, error, { id, isLegacy: message?.isModern === false });
  }
}

const INFO = { "io.modelcontextprotocol/serverInfo": SERVER };

type Methods = Readonly<Record<string, (call: Call) => object | Promise<object | HeldAnswer>>>;

const BOTH: Methods = {
  "tools/list": ({ ctx, api, isModern }) => ({
    tools: toolsOf(api, accessOf(ctx), isModern),
    ...(isModern && CACHED),
  }),
  "tools/call": callTool,
  "tasks/get": getTask,
  "tasks/cancel": cancelTask,
};

const MODERN: Methods = {
  ...BOTH,
  "server/discover": () => ({
    supportedVersions: VERSIONS,
    capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    instructions: INSTRUCTIONS,
    ...CACHED,
  }),
  "tasks/update": updateTask,
};

const OLDER: Methods = {
  ...BOTH,
  initialize: ({ ctx, params }) => {
    const asked = String(params.protocolVersion);
    // Its requests are told apart by it; nothing is kept.
    ctx.set("Mcp-Session-Id", randomUUID());
    return {
      protocolVersion: LEGACY.includes(asked) ? asked : LEGACY[0],
      capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: SERVER,
      instructions: INSTRUCTIONS,
    };
  },
  ping: () => ({}),
  "tasks/result": awaitResult,
};

function resultTo(call: Call): object | Promise<object | HeldAnswer> {
  const methods = call.isModern ? MODERN : OLDER;
  const method = Object.hasOwn(methods, call.method) ? methods[call.method] : undefined;
  if (!method) throw new RpcError("unknownMethod", `Method not found: ${call.method.slice(0, 100)}`, 404);
  return method(call);
}

/** Answers with events if the client takes them, else with the response alone. */
async function replyHeld(
  ctx: Context,
  api: Api,
  parts: HeldAnswer,
  response: (result: object) => object,
): Promise<void> {
  if (weightOf(ctx.get("Accept"), "text/event-stream") === 0) {
    for await (const part of parts) if ("result" in part) ctx.body = response(part.result);
    return;
  }
  const texts = async function* () {
    for await (const part of parts) {
      const message = "result" in part ? response(part.result) : { jsonrpc: "2.0", ...part };
      yield eventText({ name: "message", data: JSON.stringify(message) });
    }
  };
  api.streams.send(ctx, EVENTS, {
    parts: texts(),
    onError: (error) => api.log.warn({ err: error }, "mcp: a call that was held has broken off"),
    // A call is then answered with what is known of its task.
    onStop: () => undefined,
  });
}

/** What a problem is in the protocol; others are answered as everywhere. */
const PROBLEMS: Readonly<Record<string, "unparsable" | "invalidRequest">> = {
  "malformed-json": "unparsable",
  "payload-too-large": "invalidRequest",
};

/** Answers with an error of the protocol. Older clients expect 200 once a request could be read. */
function replyError(ctx: Context, thrown: unknown, { id, isLegacy }: { id: Message["id"]; isLegacy: boolean }): void {
  const as = thrown instanceof ProblemError ? PROBLEMS[thrown.code] : undefined;
  const error = as && thrown instanceof ProblemError ? new RpcError(as, thrown.message, thrown.status) : thrown;
  if (!(error instanceof RpcError)) throw thrown;
  const { code, message, data, status } = error;
  ctx.status = isLegacy ? 200 : status;
  ctx.body = { jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message, data } };
}
