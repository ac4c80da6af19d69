import type { Context } from "koa";
import { beforeMember, resultJson } from "../../engine/tasks/result-json.ts";
import type { Inspection } from "../../engine/watch/inspect.ts";
import type { Result } from "../../task.ts";
import { isJsonType } from "../../task.ts";
import type { Api } from "../api.ts";
import { setBody } from "./result-body.ts";

/** A document of which the result of a task is a member. */
interface EmbeddingDocument {
  readonly document: object;
  /** The name of the member, which comes last. */
  readonly member: string;
  /** Members of the document of a result that is not JSON. */
  readonly otherwise: object;
}

/**
 * Answers with a document that has the result of a task in it, if that is JSON.
 * @param seen the task, with its result, perhaps in pieces
 */
export async function replyEmbedding(
  ctx: Context,
  api: Pick<Api, "engine">,
  seen: Pick<Inspection, "id"> & { readonly result: Result },
  { document, member, otherwise }: EmbeddingDocument,
): Promise<void> {
  ctx.type = "application/json";
  const { result } = seen;
  if (result.body.length === 0) ctx.body = JSON.stringify({ ...document, [member]: null });
  else if (await isJson(api, seen.id, result)) {
    setBody(ctx, result, beforeMember(JSON.stringify(document), member), "}");
  } else ctx.body = JSON.stringify({ ...document, ...otherwise });
}

/** Whether a result is JSON: the body of a handler's Response need not be. A long one is buffered only until that is known. */
async function isJson({ engine }: Pick<Api, "engine">, id: string, result: Result): Promise<boolean> {
  if (!isJsonType(result.contentType)) return false;
  const whole = result.rest ? (await engine.inspector.inspect(id, { result: true }))?.result : result;
  return !!whole && resultJson(whole, Number.POSITIVE_INFINITY) !== undefined;
}
