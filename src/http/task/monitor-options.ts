import { type Parameter, readParameter } from "../../wire/parameter.ts";
import { PARAMETERS } from "../input/parameters.ts";

/** The options in the query of a monitor. */
export interface MonitorOptions {
  /** The response for a terminal task: a redirect to its result, the result, or (null) the document. */
  readonly onComplete: "redirect" | "stream" | null;
  /** Whether the response for a pending task is sent at once or when it has ended. */
  readonly onPending: "accepted" | "synchronous";
  /** The page is the small one without a script, for a frame of another page. */
  readonly embed: boolean;
}

/** Reads the options; names and values are case-insensitive. @throws PaihaoError invalid-parameter that names the parameter */
export function readMonitorOptions(search: URLSearchParams): MonitorOptions {
  const read = <T, Absent>(parameter: Parameter<T, Absent>): T | Absent => {
    const { name } = parameter;
    const own = new URLSearchParams();
    for (const [key, value] of search)
      if (key.toLowerCase() === name.toLowerCase()) own.append(name, value.toLowerCase());
    return readParameter(own, parameter);
  };
  const { onComplete, onPending, embed } = PARAMETERS;
  return { onComplete: read(onComplete), onPending: read(onPending), embed: read(embed) };
}
