import { isAnyArrayBuffer, isBoxedPrimitive, isNativeError } from "node:util/types";

/**
 * The JSON of a value that a handler hands over; undefined for undefined. JSON.stringify leaves out members that are undefined, which is
 * usual, but would also make `{}` of a Map or a promise, and nothing of a function: these are errors.
 * @param what the value is, for the error
 * @throws TypeError that names the type and where it is
 */
export function jsonText(value: unknown, what: string): string | undefined {
  let json: string | undefined;
  let failure: unknown;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    failure = error;
  }
  // Circular references have failed already.
  const fault = faultOf(value, "", failure === undefined ? undefined : []);
  if (fault) {
    const at = fault.at === "" ? "" : ` at #${fault.at}`;
    const why = fault.bytes ? " (bytes can only be a whole result)" : "";
    throw new TypeError(`${what} is not JSON: ${fault.is}${at}${why}`, { cause: failure });
  }
  if (failure !== undefined) throw failure;
  return json;
}

/** Whether a value is bytes: a Buffer, an ArrayBuffer, any typed array or DataView. */
export function isBytes(value: unknown): value is ArrayBuffer | ArrayBufferView {
  return ArrayBuffer.isView(value) || isAnyArrayBuffer(value);
}

/** A part that JSON cannot represent, and its JSON pointer. */
interface Fault {
  readonly is: string;
  readonly at: string;
  readonly bytes?: boolean;
}

/** @param above the objects that contain the value; undefined if none of them does so in a circle */
function faultOf(value: unknown, key: string, above: unknown[] | undefined): Fault | undefined {
  if (typeof value === "bigint") return { is: "a BigInt", at: "" };
  if (typeof value === "function" || typeof value === "symbol") return { is: `a ${typeof value}`, at: "" };
  if (typeof value !== "object" || value === null) return undefined;
  const isPlain = Array.isArray(value) || isPlainObject(value);
  if (!isPlain && isBytes(value)) return { is: named(value), at: "", bytes: true };
  if (above?.includes(value)) return { is: "a circular reference", at: "" };
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const made: unknown = value.toJSON(key);
    if (made !== value) return faultOf(made, key, above);
  }
  if (!isPlain && isBoxedPrimitive(value)) return faultOf(value.valueOf(), key, above);
  // No list of the entries of an array is made: it would be several times as large.
  const names = Array.isArray(value) ? value.keys() : Object.keys(value);
  if (!isPlain && (isNativeError(value) || Object.keys(value).length === 0)) return { is: named(value), at: "" };
  above?.push(value);
  for (const name of names) {
    const member = (value as Record<PropertyKey, unknown>)[name];
    // Most members are none of these.
    if (typeof member === "string" || typeof member === "number") continue;
    const fault = faultOf(member, String(name), above);
    if (fault) return { ...fault, at: `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}${fault.at}` };
  }
  above?.pop();
  return undefined;
}

/** Whether an object was written as one, in this realm or another, and not made by a class. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The type of an object, for a sentence. */
function named(value: object): string {
  const { name } = value.constructor ?? {};
  const type = name || Object.prototype.toString.call(value).slice("[object ".length, -1);
  return `${/^[AEIOU]/.test(type) ? "an" : "a"} ${type}`;
}
