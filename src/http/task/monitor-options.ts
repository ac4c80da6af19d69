import { oneParameter, wrongParameter } from "../input/parameters.ts";

/** The options in the query of a monitor. */
export interface MonitorOptions {
  /** The response for a terminal task: a redirect to its result, the result, or (undefined) the document. */
  readonly onComplete: "redirect" | "stream" | undefined;
  /** Whether the response for a pending task is sent at once or when it has ended. */
  readonly onPending: "accepted" | "synchronous";
  /** The page is the small one without a script, for a frame of another page. */
  readonly embed: boolean;
}

/** Reads the options; names and values are case-insensitive. @throws PaihaoError invalid-parameter that names the parameter */
export function readMonitorOptions(search: URLSearchParams): MonitorOptions {
  return {
    onComplete: choice(search, "onComplete", ["redirect", "stream"]),
    onPending: choice(search, "onPending", ["accepted", "synchronous"]) ?? "accepted",
    embed: choice(search, "embed", ["true", "false"]) === "true",
  };
}

function choice<T extends string>(search: URLSearchParams, name: string, values: readonly T[]): T | undefined {
  const lower = name.toLowerCase();
  const own = new URLSearchParams();
  for (const [key, value] of search) if (key.toLowerCase() === lower) own.append(name, value);
  const given = oneParameter(own, name)?.toLowerCase();
  const value = values.find((v) => v === given);
  if (given !== undefined && value === undefined) throw wrongParameter(name, `expected ${values.join(" or ")}`);
  return value;
}
