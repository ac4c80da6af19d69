/** A JSON Schema, as far as a sample needs it. */
interface Sampled {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Sampled>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Sampled[];
}

const EMPTY: Readonly<Record<string, unknown>> = {
  ...{ string: "", number: 0, integer: 0, boolean: false, array: [], null: null },
};

/** A value to begin with, by its JSON Schema: an example, else of an object the members that it must have. */
export function sampleOf(schema: Sampled): unknown {
  const {
    default: standard,
    const: only,
    enum: choices,
    examples,
    type,
    minimum = 0,
    minLength = 0,
    maxLength,
    anyOf,
  } = schema;
  const given = [examples?.[0], standard, only, choices?.[0], minimum > 0 ? minimum : undefined];
  const known = given.find((value) => value !== undefined);
  if (known !== undefined) return known;
  if (anyOf?.[0]) return sampleOf(anyOf[0]);
  const name = String(Array.isArray(type) ? type[0] : type);
  if (name === "string" && minLength > 0) return "text".padEnd(minLength, ".").slice(0, maxLength);
  if (name in EMPTY) return EMPTY[name];
  const { properties = {}, required = [] } = schema;
  return Object.fromEntries(required.map((member) => [member, sampleOf(properties[member] ?? { type: "null" })]));
}

/** A text as one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
