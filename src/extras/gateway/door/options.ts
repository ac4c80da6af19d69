import { type Duration, parseDuration } from "../../../config/duration.ts";
import { GATEWAY_METHODS, isUnsafePath } from "../request.ts";

/** The options of a gateway for a door: a port of its own, in front of the API. */
export interface DoorOptions {
  /**
   * Opens a door: the port, and the address if it is not that of the server. All of its paths are the API's, and callers need not know of
   * this server.
   */
  listen?: number | { port: number; host?: string };
  /** Requests that do not wait, such as `GET /v1/models`: a method, which may be left out, and a path, with `*` at its end for any rest. */
  direct?: readonly string[];
  /** How long a request may wait at most, by the estimate when it comes and by the clock; default: any time. */
  maxWait?: Duration;
  /** How long a turn at the door may last at most; default: any time. */
  longest?: Duration;
  /** What its clients speak: `openai` for errors, and news of the place in line, as clients of OpenAI's API take them. */
  speaks?: "openai";
}

/** The names of {@link DoorOptions}. */
const DOOR_OPTIONS = [
  "listen",
  "direct",
  "maxWait",
  "longest",
  "speaks",
] as const satisfies readonly (keyof DoorOptions)[];

/** A door, as its options say. */
export interface DoorSettings {
  readonly port: number;
  /** Undefined: that of the server. */
  readonly host: string | undefined;
  readonly maxWaitMs: number | undefined;
  readonly longestMs: number | undefined;
  readonly speaks: "openai" | undefined;
  /** Whether a request goes to the API without waiting. */
  isDirect(method: string, path: string): boolean;
}

/** Makes the error of an option. */
type Refuse = (option: string, value: unknown, expected: string) => Error;

const MAX_PORT = 65_535;

/**
 * Reads the options of a door; undefined if there is none.
 * @param refuse makes the error for an option that is wrong
 * @throws what `refuse` makes
 */
export function doorSettings(options: DoorOptions, refuse: Refuse): DoorSettings | undefined {
  const { listen, direct = [], maxWait, longest, speaks } = options;
  if (listen === undefined) {
    for (const name of DOOR_OPTIONS)
      if (options[name] !== undefined)
        throw refuse(name, options[name], "no such option without a door: set listen, too");
    return undefined;
  }
  const { port, host } = typeof listen === "object" && listen !== null ? listen : { port: listen, host: undefined };
  const isPort = Number.isInteger(port) && port >= 0 && port <= MAX_PORT;
  if (!isPort || (host !== undefined && (typeof host !== "string" || host === "")))
    throw refuse("listen", listen, `a port from 0 to ${MAX_PORT}, or { port, host }`);
  if (speaks !== undefined && speaks !== "openai") throw refuse("speaks", speaks, '"openai"');
  const duration = (name: "maxWait" | "longest", given: Duration | undefined): number | undefined => {
    const ms = given === undefined ? undefined : parseDuration(given);
    if (given !== undefined && !ms) throw refuse(name, given, "a duration above 0, such as 30s or 5m");
    return ms;
  };
  if (!Array.isArray(direct)) throw refuse("direct", direct, 'a list such as ["GET /v1/models", "/health"]');
  const rules = direct.map((text) =>
    directRule(text, () => refuse("direct", text, 'a path such as "GET /v1/models" or "/health/*"')),
  );
  return {
    port,
    host,
    speaks,
    maxWaitMs: duration("maxWait", maxWait),
    longestMs: duration("longest", longest),
    isDirect: (method, path) =>
      method === "OPTIONS" || (!isUnsafePath(path) && rules.some((rule) => rule(method, path))),
  };
}

const RULE = /^(?:([A-Z]+) )?(\/[^\s?#*]*)(\*)?$/;

/** Reads one of `direct`: whether a request is meant by it. A GET means HEAD, too. */
function directRule(text: unknown, refusal: () => Error): (method: string, path: string) => boolean {
  const [match, method, path = "", rest] = RULE.exec(String(text)) ?? [];
  const isKnown = method === undefined || method === "OPTIONS" || GATEWAY_METHODS.some((known) => known === method);
  if (typeof text !== "string" || match === undefined || !isKnown) throw refusal();
  return (asked, target) => {
    const [given = ""] = target.split("?", 1);
    const isMethod = method === undefined || method === asked || (method === "GET" && asked === "HEAD");
    return isMethod && (rest === undefined ? given === path : given.startsWith(path));
  };
}
