import { PRIORITY } from "../task.ts";
import { splitField, trimField } from "./header-fields.ts";

/** The pieces of a structured field (RFC 9651 §3): bare items, inner lists, parameters and members of a dictionary. */
const KEY = "[a-z*][a-z0-9_\\-.*]*";
const NUMBER = "-?(?:\\d{1,12}\\.\\d{1,3}|\\d{1,15})";
const STRING = '"(?:[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*"';
const TOKEN = "[A-Za-z*][!#$%&'*+\\-.^_`|~0-9A-Za-z:/]*";
const ITEM = `(?:${NUMBER}|${STRING}|${TOKEN}|:[A-Za-z0-9+/=]*:|\\?[01]|@-?\\d{1,15})`;
const PARAMETERS = `(?:; *${KEY}(?:=${ITEM})?)*`;
const INNER_LIST = `\\((?: *${ITEM}${PARAMETERS}(?= |\\)))* *\\)`;
const MEMBER = new RegExp(`^(${KEY})(?:=(${ITEM}|${INNER_LIST}))?${PARAMETERS}$`);

/**
 * The urgency that a Priority header asks for (RFC 9218 §4.1). The last one counts, as in every structured dictionary; a value
 * outside 0–7 is ignored, and so is a header that is not a dictionary (§4).
 */
export function urgencyOf(header: string): number {
  let urgency: number = PRIORITY.default;
  for (const part of splitField(header, ",")) {
    const match = MEMBER.exec(trimField(part));
    if (!match) return PRIORITY.default;
    const [, key, value = ""] = match;
    if (key === "u") urgency = urgencyFrom(value);
  }
  return urgency;
}

/** An sf-integer may have leading zeros and be "-0" (RFC 9651 §3.3.1); a decimal such as "3.0" is not one. */
function urgencyFrom(value: string): number {
  const integer = /^-?\d{1,15}$/.test(value) ? Math.abs(Number(value)) : Number.NaN;
  const negative = value.startsWith("-") && integer !== 0;
  return !negative && integer >= PRIORITY.most && integer <= PRIORITY.least ? integer : PRIORITY.default;
}
