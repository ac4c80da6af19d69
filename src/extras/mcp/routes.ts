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
import * as calls from "./calls.ts";
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
        default: {
          description: "An error of JSON-RPC, or a problem if the message could not be read.",
          content: { "application/json": { schema }, "application/problem+json": { schema } },
        },
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
    const call = { ...message, ctx, api, watchers };
    if (id === undefined) {
      if (message.method === "notifications/cancelled") await calls.cancelRequest(call);
      ctx.body = null;
      ctx.status = 202;
      return;
    }
    const result = await resultTo(call);
    if (Symbol.asyncIterator in result) await replyHeld(call, result);
    else ctx.body = responseTo(message, result);
  } catch (error) {
    replyError(ctx, error, { id, isLegacy: message?.isModern === false });
  }
}

/** The response to a request. */
function responseTo({ id, isModern }: Message, result: object): object {
  const _meta = { "io.modelcontextprotocol/serverInfo": SERVER };
  return { jsonrpc: "2.0", id, result: isModern ? { resultType: "complete", ...result, _meta } : result };
}

type Methods = Readonly<Record<string, (call: calls.Call) => object | Promise<object | calls.HeldAnswer>>>;

const BOTH: Methods = {
  "tools/list": ({ ctx, api, isModern }) => ({
    tools: toolsOf(api, accessOf(ctx), isModern),
    ...(isModern && CACHED),
  }),
  "tools/call": calls.callTool,
  "tasks/get": calls.getTask,
  "tasks/cancel": calls.cancelTask,
};

const MODERN: Methods = {
  ...BOTH,
  "server/discover": () => ({
    supportedVersions: VERSIONS,
    capabilities: { tools: {}, extensions: { [TASKS]: {} } },
    instructions: INSTRUCTIONS,
    ...CACHED,
  }),
  "tasks/update": calls.updateTask,
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
  "tasks/result": calls.awaitResult,
};

function resultTo(call: calls.Call): object | Promise<object | calls.HeldAnswer> {
  const methods = call.isModern ? MODERN : OLDER;
  const method = Object.hasOwn(methods, call.method) ? methods[call.method] : undefined;
  if (!method) throw new RpcError("unknownMethod", `Method not found: ${call.method.slice(0, 100)}`, 404);
  return method(call);
}

/** Answers with events if the client takes them, else with the response alone. */
async function replyHeld(call: calls.Call, parts: calls.HeldAnswer): Promise<void> {
  const { ctx, api } = call;
  if (weightOf(ctx.get("Accept"), "text/event-stream") === 0) {
    for await (const part of parts) if ("result" in part) ctx.body = responseTo(call, part.result);
    return;
  }
  const texts = async function* () {
    const event = (message: object) => eventText({ name: "message", data: JSON.stringify(message) });
    try {
      for await (const part of parts)
        yield event("result" in part ? responseTo(call, part.result) : { jsonrpc: "2.0", ...part });
    } catch (error) {
      api.log.warn({ err: error }, "mcp: a call that was held is answered with an error; its task goes on");
      // Without a response, its client would wait until its own timeout.
      const { code, message } = error instanceof RpcError ? error : { code: -32603, message: "Internal error" };
      yield event({ jsonrpc: "2.0", id: call.id, error: { code, message } });
    }
  };
  // A server that stops ends no held call: it is answered with what is known of its task.
  api.streams.send(ctx, EVENTS, { parts: texts(), onStop: () => undefined });
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
