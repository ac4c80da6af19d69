/** The fields of a form for a JSON Schema, and the value that they hold. */

import { html } from "../../preact.js";
import { isNumber, isObject, NoJson, numberOf, parse, textOf } from "./json.js";

/** @typedef {import("../../preact.js").Content} Content */
/** @typedef {Record<string, any>} Schema as the server made it from a handler's input */
/** @typedef {{ path: string[], schema: Schema, isRequired: boolean, kind: "text" | "number" | "boolean" | "choice" | "json" }} Field */

/** Deeper objects are written as JSON. */
const MAX_LEVELS = 3;

/** Whether a form can be made of a schema: an object whose members are known. @param {Schema | null} schema */
export const isForm = (schema) => schema?.type === "object" && Object.keys(schema.properties ?? {}).length > 0;

/** The JSON pointer of a field, as the server names it in its errors. @param {readonly string[]} path */
const pointerOf = (path) =>
  `#/${path.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;

/** A field has an invalid value. */
export class FieldError extends Error {
  /** @param {readonly string[]} path @param {string} message */
  constructor(path, message) {
    super(`${path.join(".")}: ${message}`);
    this.pointer = pointerOf(path);
  }
}

/** @param {readonly string[]} path */
const nameOf = (path) => JSON.stringify(path);

/**
 * The fields of an object, including those of nested objects. Fields of an optional object may stay empty. A value that a field
 * of its type cannot hold, such as null, gets a JSON field.
 * @param {Schema} schema
 * @param {unknown} value what the fields hold at first
 * @param {string[]} [path]
 * @param {boolean} [isNeeded]
 * @returns {(Field | { path: string[], schema: Schema, fields: ReturnType<typeof fieldsOf> })[]}
 */
function fieldsOf(schema, value, path = [], isNeeded = true) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const at = [...path, name];
    const isRequired = isNeeded && required.has(name);
    const held = memberOf(value, name);
    if (isForm(member) && at.length < MAX_LEVELS && (held === undefined || isObject(held)))
      return { path: at, schema: member, fields: fieldsOf(member, held, at, isRequired) };
    const kind = isForm(member) ? "json" : kindOf(member);
    return { path: at, schema: member, isRequired, kind: canHold(kind, member, held) ? kind : "json" };
  });
}

/** @param {unknown} value @param {string} name */
const memberOf = (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);

/**
 * Whether a field of this kind returns a value unchanged.
 * @param {Field["kind"]} kind
 * @param {Schema} schema
 * @param {unknown} value
 */
function canHold(kind, schema, value) {
  if (value === undefined || kind === "json") return true;
  if (kind === "number") return isNumber(value) && Number.isFinite(Number(textOf(value)));
  if (kind === "boolean") return typeof value === "boolean";
  if (kind === "choice") return value !== "" && choicesOf(schema).some((choice) => textOf(choice) === textOf(value));
  return typeof value === "string" && value !== "" && !/[\n\r\p{Surrogate}]/u.test(value);
}

/** @param {Schema} schema @returns {unknown[]} */
const choicesOf = (schema) => schema.enum ?? [schema.const];

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
 * @param {Record<string, unknown>} value what the fields hold at first
 * @param {ReadonlyMap<string, string>} errors by JSON pointer
 */
export function formFields(schema, value, errors) {
  const fields = fieldsOf(schema, value);
  const kept = withoutField(fields, value);
  return html`
    ${fields.map((field) => shown(field, value, errors))}
    ${kept.length > 0 && html`<p class="hint kept">Kept as entered, without a field here: ${kept.join(", ")}</p>`}`;
}

/**
 * The names of the members that no field shows.
 * @param {ReturnType<typeof fieldsOf>} fields
 * @param {unknown} value
 * @returns {string[]}
 */
function withoutField(fields, value) {
  if (!isObject(value)) return [];
  const known = new Map(fields.map((field) => [field.path.at(-1), field]));
  return Object.keys(value).flatMap((name) => {
    const field = known.get(name);
    if (field && !("fields" in field)) return [];
    return field ? withoutField(field.fields, value[name]).map((inner) => `${name}.${inner}`) : [name];
  });
}

/**
 * @param {ReturnType<typeof fieldsOf>[number]} field
 * @param {unknown} value
 * @param {ReadonlyMap<string, string>} errors
 * @returns {Content}
 */
function shown(field, value, errors) {
  const { path, schema } = field;
  const title = schema.title ?? path.at(-1) ?? "";
  if ("fields" in field) {
    const inner = field.fields.map((each) => shown(each, value, errors));
    return html`<fieldset key=${nameOf(path)}><legend>${title}</legend>${inner}</fieldset>`;
  }
  const id = `input${pointerOf(path)}`;
  const error = errors.get(pointerOf(path));
  const hint = [schema.description, limits(schema, field.kind)].filter(Boolean).join("; ");
  const describedBy = [hint !== "" && `${id}:hint`, error && `${id}:error`].filter(Boolean).join(" ");
  const props = {
    id,
    name: nameOf(path),
    required: field.isRequired && field.kind !== "boolean",
    "aria-invalid": error ? "true" : null,
    "aria-describedby": describedBy || null,
  };
  return html`
    <div class="field" key=${nameOf(path)}>
      <label for=${id}>${title}${!field.isRequired && html`<span class="hint"> optional</span>`}</label>
      ${control(field, at(value, path), props)}
      ${hint !== "" && html`<p class="hint" id="${id}:hint">${hint}</p>`}
      ${error && html`<p class="bad" id="${id}:error">${error}</p>`}
    </div>`;
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
 * @param {Record<string, unknown>} props
 */
function control({ schema, kind, isRequired }, value, props) {
  const text = value === undefined ? "" : textOf(value);
  if (kind === "choice" || kind === "boolean") {
    const choices = kind === "boolean" ? ["true", "false"] : choicesOf(schema).map(String);
    const held = value === undefined ? "" : String(value);
    return html`
      <select ...${props}>
        <option value="">${isRequired ? "Choose …" : "–"}</option>
        ${choices.map((choice) => html`<option value=${choice} selected=${choice === held}>${choice}</option>`)}
      </select>`;
  }
  if (kind === "json") return html`<textarea ...${props} rows="3" spellcheck=${false} defaultValue=${text} />`;
  const step = schema.type === "integer" ? "1" : "any";
  if (kind === "number") return html`<input ...${props} type="number" step=${step} defaultValue=${text} />`;
  return html`<input ...${props} type="text" autocomplete="off" defaultValue=${value ?? ""} />`;
}

/** @param {unknown} value @param {readonly string[]} path */
function at(value, path) {
  /** @type {unknown} */
  let found = value;
  for (const name of path) found = memberOf(found, name);
  return found;
}

/**
 * What a form holds: the value it began with, changed by its fields. Empty fields are left out.
 * @param {Schema} schema
 * @param {HTMLFormElement} form
 * @param {Record<string, unknown>} before
 * @returns {Record<string, unknown>}
 * @throws {FieldError} if a JSON field does not hold JSON, or a number field no number
 */
export function formValue(schema, form, before) {
  const data = new FormData(form);
  for (const control of form.elements) {
    if (control instanceof HTMLInputElement && control.validity.badInput && control.name.startsWith("["))
      throw new FieldError(JSON.parse(control.name), "this is not a number");
  }
  return changed(fieldsOf(schema, before), before, data) ?? {};
}

/**
 * An object with the values of its fields. An object that becomes empty is left out.
 * @param {ReturnType<typeof fieldsOf>} fields
 * @param {unknown} before
 * @param {FormData} data
 * @returns {Record<string, unknown> | undefined}
 */
function changed(fields, before, data) {
  const members = new Map(isObject(before) ? Object.entries(before) : []);
  const wasEmpty = isObject(before) && members.size === 0;
  for (const field of fields) {
    const name = field.path.at(-1) ?? "";
    const text = String(data.get(nameOf(field.path)) ?? "");
    const value =
      "fields" in field
        ? changed(field.fields, members.get(name), data)
        : text === ""
          ? undefined
          : parsed(field, text);
    if (value === undefined) members.delete(name);
    else members.set(name, value);
  }
  return members.size > 0 || wasEmpty ? Object.fromEntries(members) : undefined;
}

/** @param {Field} field @param {string} text */
function parsed({ path, schema, kind }, text) {
  if (kind === "number") return numberOf(text);
  if (kind === "boolean") return text === "true";
  if (kind === "choice") return schema.const !== undefined ? schema.const : text;
  if (kind === "text") return text;
  try {
    return parse(text);
  } catch (error) {
    throw error instanceof NoJson ? new FieldError(path, error.message) : error;
  }
}
