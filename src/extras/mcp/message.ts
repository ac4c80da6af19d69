import type { Context } from "koa";
import { z } from "zod";

/** The revision without sessions: each request says its version and what its client can do. */
const MODERN = "2026-07-28";
/** Those that begin with `initialize`, the newest first. */
export const LEGACY: readonly string[] = ["2025-11-25", "2025-06-18"];
/** All revisions that are spoken. */
export const VERSIONS = [MODERN, ...LEGACY];

/** The extension by which a client says that it polls tasks. */
export const TASKS = "io.modelcontextprotocol/tasks";

/** Error codes of JSON-RPC and of the protocol. */
const CODES = {
  unparsable: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** An error of the protocol: the request itself is wrong. What goes wrong with a task is a result. */
export class RpcError extends Error {
  readonly code: number;
  /** Of the answer. */
  readonly status: number;
  readonly data: object | undefined;

  constructor(code: keyof typeof CODES, message: string, status = 400, data?: object) {
    super(message);
    this.name = "RpcError";
    this.code = CODES[code];
    this.status = status;
    this.data = data;
  }
}

type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A request, or a notification. */
export interface Message {
  /** Undefined for a notification. */
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: Members;
  readonly meta: Members;
  readonly isModern: boolean;
  /** Its client polls tasks: it has declared the extension; in the older revisions, this call asks for a task. */
  readonly hasTasks: boolean;
}

const form = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.int()]).optional(),
  method: z.string(),
  params: z.looseObject({ _meta: z.looseObject({}).optional() }).optional(),
});

/** The id of a message, as far as it can be read: errors carry it. */
export const idOf = (body: unknown): Message["id"] => z.object({ id: form.shape.id }).safeParse(body).data?.id;

/** Reads a message, and checks it against its headers. @throws RpcError */
export function readMessage(ctx: Context, body: unknown): Message {
  if (Array.isArray(body)) throw new RpcError("invalidRequest", "Expected one message: there are no batches.");
  const { data } = form.safeParse(body);
  if (!data)
    throw new RpcError("invalidRequest", "Expected a JSON-RPC 2.0 message with a method; ids are text or integers.");
  const { id, method, params = {} } = data;
  const meta = params._meta ?? {};
  const isModern = checkVersion(ctx, meta, method);
  if (isModern && id !== undefined) checkModern(ctx, { method, params, meta });
  const { extensions } = (meta[CAPABILITIES] ?? {}) as { extensions?: Members };
  return {
    id,
    method,
    params,
    meta,
    isModern,
    hasTasks: isModern ? extensions?.[TASKS] !== undefined : isObject(params.task),
  };
}

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Whether a message is of the newer revision. @throws RpcError if header and body differ, or the revision is not spoken */
function checkVersion(ctx: Context, meta: Members, method: string): boolean {
  const header = ctx.get("MCP-Protocol-Version");
  const version = meta[VERSION];
  if (version !== undefined && version !== header) throw mismatch("MCP-Protocol-Version", header, version);
  // Older clients agree on a version in the body of `initialize`.
  if (version === undefined && (header === "" || method === "initialize")) return false;
  if (VERSIONS.includes(header)) return header === MODERN;
  const data = { supported: VERSIONS, requested: header };
  throw new RpcError("unsupportedVersion", "Unsupported protocol version", 400, data);
}

/** The member of `params` that Mcp-Name repeats. */
const NAMES: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

/** @throws RpcError for what the newer revision requires of a request */
function checkModern(ctx: Context, { method, params, meta }: Pick<Message, "method" | "params" | "meta">): void {
  if (meta[VERSION] === undefined || !isObject(meta[CAPABILITIES])) {
    throw new RpcError("invalidParams", `Expected ${VERSION} and ${CAPABILITIES} in _meta.`);
  }
  if (ctx.get("Mcp-Method") !== method) throw mismatch("Mcp-Method", ctx.get("Mcp-Method"), method);
  const name = params[NAMES[method] ?? ""];
  const header = name === undefined ? undefined : decodedHeader(ctx, "Mcp-Name");
  if (header !== name) throw mismatch("Mcp-Name", header, name);
}

function mismatch(name: string, header: unknown, body: unknown): RpcError {
  const [given, expected] = [header ?? "", body].map((value) => String(value).slice(0, 100));
  return new RpcError("headerMismatch", `Header mismatch: ${name} is '${given}', the body has '${expected}'`);
}

/** A header whose value may be in Base64; undefined if it is missing. @throws RpcError if that is malformed */
function decodedHeader(ctx: Context, name: string): string | undefined {
  const header = ctx.headers[name.toLowerCase()];
  if (typeof header !== "string") return undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  if (encoded === undefined) return header;
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64") !== encoded) throw mismatch(name, header, "malformed Base64");
  return bytes.toString("utf8");
}

/** Checks the headers that repeat arguments: those which the schema of a tool marks with `x-mcp-header`. @throws RpcError */
export function checkMirrored(ctx: Context, schema: Members, value: unknown): void {
  for (const [name, member] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    if (!isObject(member)) continue;
    const given = isObject(value) ? (value[name] ?? undefined) : undefined;
    const mirrored = `Mcp-Param-${member["x-mcp-header"]}`;
    const header = member["x-mcp-header"] === undefined ? undefined : decodedHeader(ctx, mirrored);
    const isSame = typeof given === "number" ? Number(header) === given : header === (given && String(given));
    if (member["x-mcp-header"] !== undefined && !isSame) throw mismatch(mirrored, header, given);
    checkMirrored(ctx, member, given);
  }
}
