/** The fields of a form for what a JSON Schema describes, and the value that they hold. */

import { h } from "../parts/html.js";

/** @typedef {Record<string, any>} Schema as the server made it from a handler's input */
/** @typedef {{ path: string[], schema: Schema, isRequired: boolean, kind: "text" | "number" | "boolean" | "choice" | "json" }} Field */

/** Deeper objects are written as JSON. */
const MOST_LEVELS = 3;

/** Whether a form can be made of a schema: an object whose members are known. @param {Schema | null} schema */
export const isForm = (schema) => schema?.type === "object" && Object.keys(schema.properties ?? {}).length > 0;

/** The JSON pointer of a field, as the server names it in its errors. @param {readonly string[]} path */
const pointerOf = (path) =>
  `#/${path.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;

/** @param {readonly string[]} path */
const nameOf = (path) => JSON.stringify(path);

/**
 * The fields of an object, those of its objects within them. Nothing of an optional object has to be filled in.
 * @param {Schema} schema
 * @param {string[]} [path]
 * @param {boolean} [isNeeded]
 * @returns {(Field | { path: string[], schema: Schema, fields: ReturnType<typeof fieldsOf> })[]}
 */
function fieldsOf(schema, path = [], isNeeded = true) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const at = [...path, name];
    const isRequired = isNeeded && required.has(name);
    if (isForm(member) && at.length < MOST_LEVELS)
      return { path: at, schema: member, fields: fieldsOf(member, at, isRequired) };
    return { path: at, schema: member, isRequired, kind: kindOf(member) };
  });
}

/** @param {Schema} schema @returns {Field["kind"]} */
function kindOf({ type, enum: choices, const: only }) {
  if (only !== undefined || choices?.every((/** @type {unknown} */ choice) => typeof choice === "string"))
    return "choice";
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "json";
}

/**
 * @param {Schema} schema
 * @param {unknown} value what the fields hold to begin with
 * @param {ReadonlyMap<string, string>} errors by JSON pointer
 */
export const formFields = (schema, value, errors) => fieldsOf(schema).map((field) => shown(field, value, errors));

/**
 * @param {ReturnType<typeof fieldsOf>[number]} field
 * @param {unknown} value
 * @param {ReadonlyMap<string, string>} errors
 * @returns {import("../parts/html.js").Description}
 */
function shown(field, value, errors) {
  const { path, schema } = field;
  const title = schema.title ?? path.at(-1) ?? "";
  if ("fields" in field) {
    return h(
      "fieldset",
      { key: nameOf(path) },
      h("legend", null, title),
      field.fields.map((each) => shown(each, value, errors)),
    );
  }
  const id = `input${pointerOf(path)}`;
  const error = errors.get(pointerOf(path));
  const hint = [schema.description, limits(schema, field.kind)].filter(Boolean).join("; ");
  const describedBy = [hint !== "" && `${id}:hint`, error && `${id}:error`].filter(Boolean).join(" ");
  return h(
    "div",
    { class: "field", key: nameOf(path) },
    h("label", { for: id }, title, !field.isRequired && h("span", { class: "hint" }, " optional")),
    control(field, at(value, path), {
      id,
      name: nameOf(path),
      required: field.isRequired && field.kind !== "boolean",
      "aria-invalid": error ? "true" : null,
      "aria-describedby": describedBy === "" ? null : describedBy,
    }),
    hint !== "" && h("p", { class: "hint", id: `${id}:hint` }, hint),
    error && h("p", { class: "bad", id: `${id}:error` }, error),
  );
}

/** @param {Schema} schema @param {Field["kind"]} kind */
function limits({ type, minimum, maximum, default: standard, format }, kind) {
  /** @param {unknown} bound */
  const isTold = (bound) => typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return [
    kind === "json" && (type === "array" ? "a JSON array" : "JSON"),
    kind === "number" && isTold(minimum) && isTold(maximum) && `${minimum} to ${maximum}`,
    kind === "text" && format,
    standard !== undefined && `default ${JSON.stringify(standard)}`,
  ]
    .filter(Boolean)
    .join("; ");
}

/**
 * @param {Field} field
 * @param {unknown} value
 * @param {import("../parts/html.js").Props} props
 */
function control({ schema, kind, isRequired }, value, props) {
  if (kind === "choice" || kind === "boolean") {
    const choices = kind === "boolean" ? ["true", "false"] : (schema.enum ?? [schema.const]).map(String);
    return h(
      "select",
      { ...props, value: value === undefined ? "" : String(value) },
      h("option", { value: "" }, isRequired ? "Choose …" : "–"),
      choices.map((/** @type {string} */ choice) => h("option", { value: choice }, choice)),
    );
  }
  if (kind === "json")
    return h("textarea", {
      ...props,
      rows: "3",
      spellcheck: "false",
      value: value === undefined ? "" : JSON.stringify(value),
    });
  if (kind === "number")
    return h("input", { ...props, type: "number", step: schema.type === "integer" ? "1" : "any", value: value ?? "" });
  return h("input", { ...props, type: "text", autocomplete: "off", value: value ?? "" });
}

/** @param {unknown} value @param {readonly string[]} path */
function at(value, path) {
  /** @type {unknown} */
  let found = value;
  for (const name of path) found = typeof found === "object" && found !== null ? Reflect.get(found, name) : undefined;
  return found;
}

/**
 * What the fields of a form hold; those that are empty are left out.
 * @param {Schema} schema
 * @param {FormData} data
 * @returns {Record<string, unknown>}
 * @throws {SyntaxError} when a field of JSON holds none
 */
export function formValue(schema, data) {
  /** @type {Record<string, unknown>} */
  const value = {};
  /** @param {ReturnType<typeof fieldsOf>} fields */
  const read = (fields) => {
    for (const field of fields) {
      if ("fields" in field) {
        read(field.fields);
        continue;
      }
      const text = String(data.get(nameOf(field.path)) ?? "");
      if (text !== "") put(value, field.path, parsed(field, text));
    }
  };
  read(fieldsOf(schema));
  return value;
}

/** @param {Field} field @param {string} text */
function parsed({ path, schema, kind }, text) {
  if (kind === "number") return Number(text);
  if (kind === "boolean") return text === "true";
  if (kind === "choice") return schema.const !== undefined ? schema.const : text;
  if (kind === "text") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`${path.join(".")} is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/** @param {Record<string, unknown>} value @param {readonly string[]} path @param {unknown} member */
function put(value, path, member) {
  const [name = "", ...rest] = path;
  /** @type {Record<string, unknown>} */
  const inner = {};
  if (rest.length === 0) define(value, name, member);
  else
    put(
      Object.hasOwn(value, name) ? /** @type {Record<string, unknown>} */ (value[name]) : define(value, name, inner),
      rest,
      member,
    );
}

/**
 * Sets a member of any name, also `__proto__`.
 * @template T
 * @param {Record<string, unknown>} value
 * @param {string} name
 * @param {T} member
 */
function define(value, name, member) {
  Object.defineProperty(value, name, { value: member, enumerable: true, configurable: true, writable: true });
  return member;
}
