import { pathToFileURL } from "node:url";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { hint } from "../config/nearest.ts";
import { messageOf } from "../errors.ts";
import { defineHandler, type Handler } from "./define.ts";
import { type HandlerOptions, OPTIONS } from "./options.ts";
import { defineTurns, TURNS_OPTIONS, type TurnsOptions } from "./turns.ts";

/** Options that are code, or about running it in this process. */
const OF_CODE: ReadonlySet<string> = new Set(["queue", "run", "keyed", "label", "undo", "timeout", "isolate"]);
const NAMES = Object.keys(OPTIONS).filter((name) => !OF_CODE.has(name));
/** Those of a queue of turns; `turns` says that it is one, and how many slots it has. */
const OF_TURNS = ["turns", ...TURNS_OPTIONS.filter((name) => name !== "slots" && !OF_CODE.has(name))];

/**
 * The queues that a file declares, for workers over HTTP or of turns: an object with the options of each queue by its name.
 * @throws Error that names the queue, the option, its value and what was expected
 */
export async function readQueuesFile(file: string): Promise<[queue: string, handler: Handler][]> {
  // Imported, so that `paihao dev` watches it.
  const { default: queues } = await import(pathToFileURL(file).href, { with: { type: "json" } });
  if (!isObject(queues)) throw new TypeError('expected an object such as { "embed": { "attempts": 3 } }');
  return Object.entries(queues).map(([queue, options]) => [queue, handlerOf(queue, options)]);
}

function handlerOf(queue: string, options: unknown): Handler {
  const error = (fault: string) => new TypeError(`queue ${JSON.stringify(queue)}: ${fault}`);
  if (!isObject(options)) throw error(`is ${JSON.stringify(options)}, expected an object with its options`);
  const names = "turns" in options ? OF_TURNS : NAMES;
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const why = OF_TURNS.includes(name) ? ', which is for turns: expected "turns", too' : hint(name, names);
    throw error(`there is no option "${name}"${why || `, expected one of ${names.join(", ")}`}`);
  }
  const { input, turns, concurrency, ...others } = options;
  if (turns !== undefined) {
    const of = { ...(others as Partial<TurnsOptions>), ...schemaOf(input, error) };
    const slots = OPTIONS.concurrency.read({ each: 0, total: turns as number }, (value, expected) =>
      error(`turns is ${JSON.stringify(value)}, expected ${expected}`),
    ).total;
    return defineTurns({ ...of, queue, ...(slots !== undefined && { slots }) });
  }
  if (concurrency !== undefined && !(isObject(concurrency) && concurrency.each === undefined)) {
    throw error(
      `concurrency is ${JSON.stringify(concurrency)}, expected { "total": 4 }: each worker has its own slots`,
    );
  }
  const run = () => {
    throw new Error("its tasks are for workers over HTTP");
  };
  // Each option refuses values that the type does not allow.
  return defineHandler({
    ...(others as Partial<HandlerOptions<unknown>>),
    ...schemaOf(input, error),
    queue,
    run,
    concurrency: { ...concurrency, each: 0 },
  });
}

function schemaOf(input: unknown, error: (fault: string) => TypeError) {
  if (input === undefined) return {};
  try {
    if (!isObject(input)) throw new TypeError("expected an object");
    return { input: jsonSchemaOf(input) };
  } catch (thrown) {
    const given = JSON.stringify(input);
    const shown = given.length > 200 ? `${given.slice(0, 200)}…` : given;
    throw error(`input is ${shown}, expected a JSON Schema (2020-12) without remote references: ${messageOf(thrown)}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A Standard Schema that checks by a JSON Schema (2020-12), and shows it. */
type Checked = StandardSchemaV1 & StandardJSONSchemaV1;

/**
 * A schema that checks by a JSON Schema. `format` and unknown keywords are annotations, as the standard says; remote references
 * are not fetched.
 * @throws Error for what is no JSON Schema 2020-12
 */
function jsonSchemaOf(schema: Record<string, unknown>): Checked {
  const check = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(schema);
  if ("$async" in check) throw new Error("$async is not a keyword of JSON Schema");
  const shown = () => schema;
  return {
    "~standard": {
      version: 1,
      vendor: "json-schema",
      validate: (value) => (check(value) ? { value } : { issues: (check.errors ?? []).map(issueOf) }),
      jsonSchema: { input: shown, output: shown },
    },
  };
}

/** An error as an issue at the member that it is about, which may be one that is missing or too many. */
function issueOf({ instancePath, params, message, keyword }: ErrorObject): StandardSchemaV1.Issue {
  const path = instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const member = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  const values = params.allowedValues ?? (keyword === "const" ? [params.allowedValue] : undefined);
  const allowed = values === undefined ? "" : `: ${values.map((one: unknown) => JSON.stringify(one)).join(", ")}`;
  return { message: `${message ?? keyword}${allowed}`, path: member === undefined ? path : [...path, String(member)] };
}
