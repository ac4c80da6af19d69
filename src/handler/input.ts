import type { StandardJSONSchemaV1 } from "@standard-schema/spec";
import type { Handler } from "./define.ts";

/** Of each handler, since a schema library takes long to make one. */
const SCHEMAS = new WeakMap<Handler, Record<string, unknown> | null>();

/** The JSON Schema (2020-12) of the input of a handler; null if its schema library cannot generate one. */
export function inputJsonSchema(handler: Handler): Record<string, unknown> | null {
  const known = SCHEMAS.get(handler);
  if (known !== undefined) return known;
  const schema = readJsonSchema(handler);
  SCHEMAS.set(handler, schema);
  return schema;
}

function readJsonSchema(handler: Handler): Record<string, unknown> | null {
  const standard = handler.schema?.["~standard"] as Partial<StandardJSONSchemaV1["~standard"]> | undefined;
  try {
    return standard?.jsonSchema?.input({ target: "draft-2020-12" }) ?? null;
  } catch {
    // Some schemas (a transform, a custom check) have no JSON Schema, although they validate.
    return null;
  }
}

/** Whether a handler takes a media type (without parameters, in lower case). */
export function consumesType(handler: Handler, mediaType: string): boolean {
  return handler.consumes.some(
    (range) =>
      range === "*/*" || range === mediaType || (range.endsWith("/*") && mediaType.startsWith(range.slice(0, -1))),
  );
}
