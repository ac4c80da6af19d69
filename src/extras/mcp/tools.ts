import { consumesType, type Handler, inputJsonSchema } from "../../handler/define.ts";
import type { Api } from "../../http/api.ts";
import { type Access, hasScope } from "../../http/request/access.ts";
import { takesInputs } from "../../http/request/queue.ts";
import { type Schema, SUBMIT } from "../../http/route.ts";

/** The tool with which clients that cannot poll tasks go on waiting for a call. */
export const CHECK_TASK = "check_task";

const CHECK = {
  name: CHECK_TASK,
  description:
    "Waits for a call of another tool that goes on, and gives its result, or how many are before it in line. Call it again as long as the task goes on.",
  inputSchema: {
    type: "object",
    properties: { task_id: { type: "string", description: "The task_id that the call has answered with." } },
    required: ["task_id"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
} as const;

/** A tool: a queue that takes JSON. */
interface Tool {
  readonly handler: Handler;
  /** Of its arguments, which are always an object. */
  readonly inputSchema: Schema;
  /** Its input is no object, and the argument `input`. */
  readonly isWrapped: boolean;
}

/** The tool of a queue; undefined if it is none for this caller. */
export function toolOf({ handlers }: Pick<Api, "handlers">, access: Access, name: string): Tool | undefined {
  const handler = handlers.get(name);
  if (!takesInputs(handler) || !handler.tool || handler.turns || name === CHECK_TASK) return undefined;
  if (!consumesType(handler, "application/json") || !hasScope(access, SUBMIT)) return undefined;
  const schema = inputJsonSchema(handler) ?? {};
  if (takesObjects(schema)) return { handler, inputSchema: { type: "object", ...schema }, isWrapped: false };
  const { $schema, $defs, ...input } = schema;
  const inputSchema = { $schema, type: "object", properties: { input }, required: ["input"], $defs };
  return { handler, inputSchema, isWrapped: true };
}

/** Whether an object may be what a schema describes: `type` says so, or one of its alternatives, or nothing says what it is. */
function takesObjects({ type, anyOf, oneOf, allOf, $ref, ...others }: Schema): boolean {
  if (type !== undefined) return type === "object";
  const parts = [anyOf, oneOf, allOf].flatMap((each) => (Array.isArray(each) ? (each as Schema[]) : []));
  if (parts.length > 0) return parts.some(takesObjects);
  return $ref === undefined && others.enum === undefined && others.const === undefined;
}

/** All tools of a caller, always in the same order. */
export function toolsOf(api: Pick<Api, "handlers">, access: Access, isModern: boolean): object[] {
  const queues = [...api.handlers.keys()].sort();
  const tools = queues.flatMap((name) => {
    const tool = toolOf(api, access, name);
    if (!tool) return [];
    const { description = `Submits a task to the queue ${name}.` } = tool.handler;
    // The older revision asks each tool whether it may be called as a task.
    const support = isModern ? {} : { execution: { taskSupport: "optional" } };
    return [{ name, description, inputSchema: tool.inputSchema, ...support }];
  });
  return [...tools, CHECK];
}
