import { pathToFileURL } from "node:url";
import { hint } from "../config/nearest.ts";
import { messageOf } from "../errors.ts";
import { defineHandler, type Handler } from "./define.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { type HandlerOptions, OPTIONS } from "./options.ts";

/** Options that are code, or about running it in this process. */
const OF_CODE = new Set(["queue", "run", "keyed", "label", "undo", "timeout", "concurrency", "isolate"]);
const NAMES = Object.keys(OPTIONS).filter((name) => !OF_CODE.has(name));

/**
 * The queues that a file declares for workers over HTTP: an object with the options of each queue by its name.
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
  for (const name of Object.keys(options)) {
    if (NAMES.includes(name)) continue;
    throw error(`there is no option "${name}"${hint(name, NAMES) || `, expected one of ${NAMES.join(", ")}`}`);
  }
  const { input, ...others } = options;
  const run = () => {
    throw new Error("its tasks are for workers over HTTP");
  };
  // Each option refuses values that the type does not allow.
  return defineHandler({
    ...(others as Partial<HandlerOptions<unknown>>),
    ...schemaOf(input, error),
    queue,
    run,
    concurrency: 0,
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
