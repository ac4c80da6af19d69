import { oneParameter, wrongParameter } from "./submit-options.ts";

/** What the query of a monitor asks for beside its document. */
export interface MonitorOptions {
  /** What a terminal task is answered with: its result's place, the result itself, or (undefined) the document. */
  readonly onComplete: "redirect" | "stream" | undefined;
  /** Whether a pending task is answered for at once or held. */
  readonly onPending: "accepted" | "synchronous";
}

/** Reads the options; names and values are case-insensitive. @throws PaihaoError invalid-parameter that names the parameter */
export function readMonitorOptions(search: URLSearchParams): MonitorOptions {
  return {
    onComplete: choice(search, "onComplete", ["redirect", "stream"]),
    onPending: choice(search, "onPending", ["accepted", "synchronous"]) ?? "accepted",
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
