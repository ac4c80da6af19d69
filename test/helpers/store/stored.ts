import { ALLOCATION_KEYS } from "../../../src/extras/allocations/extension.ts";
import { BREAKER_FIELDS } from "../../../src/extras/gateway/extension.ts";
import { ATTEMPT_FIELDS, GROUP_FIELDS, QUEUE_FIELDS, TASK_FIELDS } from "../../../src/store/fields.ts";
import { KEYS, startsOf } from "../../../src/store/keys.ts";

/**
 * A key of a partition by the name of its kind, for tests that read from the store what the engine does not offer. A kind with only one
 * key in each partition needs no name.
 */
export function storedKey(tag: string, kind: StoredKind, name = "jobs"): string {
  return tag + STARTS[kind] + (STARTS[kind].endsWith(":") ? name : "");
}

/** Those of the core and of the extras. */
const STARTS = startsOf({ ...KEYS, ...ALLOCATION_KEYS });
export type StoredKind = keyof typeof STARTS;

type Fields<Of> = { readonly [Name in keyof Of]: string };
const fieldsOf = <Of extends Readonly<Record<string, readonly [string, string]>>>(fields: Of): Fields<Of> =>
  Object.fromEntries(Object.entries(fields).map(([name, [field]]) => [name, field])) as Fields<Of>;

/** The fields of a task, a queue and a group, as they are stored. */
export const TASK = fieldsOf(TASK_FIELDS);
export const ATTEMPTS = fieldsOf(ATTEMPT_FIELDS);
export const QUEUE = fieldsOf({ ...QUEUE_FIELDS, ...BREAKER_FIELDS });
export const GROUP = fieldsOf(GROUP_FIELDS);
