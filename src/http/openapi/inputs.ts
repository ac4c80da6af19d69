import { consumesType, type Handler, inputJsonSchema } from "../../handler/define.ts";
import type { RequestBody, Schema } from "../route.ts";

/** Members of a schema that contain values, not schemas: a `$ref` in them is plain text. */
const VALUES = new Set(["const", "default", "enum", "examples", "example"]);

/** The name of the component with a queue's input schema. */
const inputName = (queue: string): string => `input.${queue}`;

/** The input schemas of a handler as components; none if its schema library has no JSON Schema for them. */
export function inputSchemas(handler: Handler): Record<string, Schema> {
  const schema = inputJsonSchema(handler);
  return schema === null ? {} : asComponents(handler.queue, schema);
}

/**
 * A schema as a component. Its definitions become components too, since `#/$defs/…` would be resolved against the whole document. Their
 * names have no dot behind the queue, so that those of two queues differ, and differ from one another not by case alone.
 */
function asComponents(queue: string, schema: Schema): Record<string, Schema> {
  const { $defs, $schema: _, ...root } = schema;
  const definitions = Object.entries(typeof $defs === "object" && $defs !== null ? $defs : {});
  const name = inputName(queue);
  const names = new Map([["#", name]]);
  const taken = new Set<string>();
  for (const [key] of definitions) {
    let part = key.replace(/[^A-Za-z0-9_-]/g, "_");
    while (taken.has(part.toLowerCase())) part += "_";
    taken.add(part.toLowerCase());
    names.set(`#/$defs/${key}`, `part.${queue}.${part}`);
  }
  const entries = [["#", root] as const, ...definitions.map(([key, value]) => [`#/$defs/${key}`, value] as const)];
  return Object.fromEntries(
    entries.map(([pointer, value]) => [names.get(pointer) ?? name, relocated(value, names) as Schema]),
  );
}

/** The schema with its references changed to the new names of the definitions. */
function relocated(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => relocated(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const target = key === "$ref" ? names.get(String(member)) : undefined;
      if (target !== undefined) return [key, `#/components/schemas/${target}`];
      return [key, VALUES.has(key) ? member : relocated(member, names)];
    }),
  );
}

/** The body of a submission to a queue. */
export function inputBody(handler: Handler): RequestBody {
  const known = inputJsonSchema(handler) !== null;
  const schema = known ? { $ref: `#/components/schemas/${inputName(handler.queue)}` } : {};
  const types = handler.consumes.map((range) => {
    const isJson = consumesType({ ...handler, consumes: [range] }, "application/json") && range !== "*/*";
    return [range === "application/*" ? "application/json" : range, isJson ? { schema } : {}] as const;
  });
  return { required: true, content: Object.fromEntries(types) };
}

/** The body of a submission where the path does not fix the queue. */
export const ANY_INPUT: RequestBody = {
  description: "What the handler of the queue accepts; each queue also has a path of its own with its schema.",
  required: true,
  content: { "application/json": {}, "*/*": {} },
};

/** The body of a submission to a queue, if the server has a handler for it. */
export function inputOf(queue: string): (handlers: readonly Handler[]) => RequestBody {
  return (handlers) => {
    const handler = handlers.find((other) => other.queue === queue);
    return handler ? inputBody(handler) : ANY_INPUT;
  };
}
