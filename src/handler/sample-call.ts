import { quoted, sampleOf } from "../words/sample.ts";
import { type Handler, inputJsonSchema } from "./define.ts";

/** A call that can be tried, as parts of a command of curl. */
export interface SampleCall {
  readonly path: string;
  /** The options for its headers and body. */
  readonly options: string;
}

/** A submission to the first of the queues, with a sample of its input. */
export function sampleCall(handlers: ReadonlyMap<string, Handler>): SampleCall | undefined {
  const [handler] = handlers.values();
  if (!handler) return undefined;
  const { queue, turns, consumes } = handler;
  const schema = inputJsonSchema(handler);
  const type = consumes[0] ?? "application/json";
  const body = type.includes("json") ? quoted(JSON.stringify(sampleOf(schema ?? {}))) : "@file";
  const input = turns && !schema ? "-X POST" : `-H 'Content-Type: ${type}' -d ${body}`;
  return { path: `/v1/queues/${queue}/requests`, options: ` -H 'Prefer: respond-async' ${input}` };
}
