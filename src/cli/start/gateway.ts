import { connect } from "node:net";
import type { Config } from "../../config/config.ts";
import { reasonOf, StartError } from "../../errors.ts";
import { defineGateway, type Gateway, type GatewayOptions } from "../../extras/gateway/gateway.ts";
import type { Running } from "../../running.ts";
import { variable } from "../environment.ts";
import { wrongUsage } from "../exit.ts";
import { note } from "../terminal/print.ts";
import { startServer } from "./start.ts";

/** The options of `paihao gateway`. */
export interface GatewayCommandOptions {
  readonly port: number;
  readonly slots: number;
  readonly queue: string;
  readonly direct?: readonly string[];
  readonly speaks?: "openai" | "none";
  /** Name of the variable with the API's own key. */
  readonly keyEnv?: string;
  readonly fair?: true;
  /** In ms. */
  readonly maxWait?: number;
}

const OLLAMA_PORT = "11434";
/** What servers that speak as OpenAI's API does answer without the model. */
const QUICK = ["GET /", "GET /v1/models*", "GET /models*", "GET /health*", "GET /api/*", "POST /api/show"] as const;
/** How often an API that is away is looked for, and how long one look takes at most, ms. */
const LOOK_MS = { every: 1000, atMost: 5000 } as const;

/**
 * `paihao gateway`: runs a server with one gateway and its door until SIGINT or SIGTERM.
 * @throws CommandError for a value that cannot be used
 */
export async function startGateway(url: string, options: GatewayCommandOptions): Promise<void> {
  const { queue } = options;
  const handler = gatewayOf(url.includes("://") ? url : `http://${url}`, options);
  let signal: AbortSignal;
  try {
    signal = await startServer(
      { ROLE: "all" },
      {
        handlers: new Map([[queue, handler]]),
        greet: (running, config) => greeting(handler, options, running, config),
      },
    );
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    throw new StartError(error.message.replace(`listen of the gateway ${queue}`, "--port"), { cause: error });
  }
  await waitFor(handler.upstream.target, signal);
}

function gatewayOf(target: string, options: GatewayCommandOptions): Gateway {
  const { port, slots, queue, fair, keyEnv, maxWait } = options;
  const key = keyEnv === undefined ? undefined : variable(keyEnv);
  if (keyEnv !== undefined && !key) throw wrongUsage(`--key-env names ${keyEnv}, which is not set`);
  const speaks = (options.speaks ?? formOf(target)) === "openai" ? ("openai" as const) : undefined;
  const direct = options.direct ?? (speaks && QUICK);
  const given: GatewayOptions = {
    ...{ queue, target, slots, listen: port },
    ...(direct && { direct }),
    ...(speaks && { speaks }),
    ...(key !== undefined && { key }),
    ...(fair && { fair }),
    ...(maxWait !== undefined && { maxWait }),
  };
  try {
    return defineGateway(given);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw wrongUsage(error.message);
  }
}

/** What an API at this URL most probably speaks. */
function formOf(target: string): "openai" | "none" {
  if (!URL.canParse(target)) return "none";
  const { port, pathname } = new URL(target);
  return port === OLLAMA_PORT || /\/v1\/?$/.test(pathname) ? "openai" : "none";
}

/** What is printed when the server is ready. */
function greeting(
  { door, upstream }: Gateway,
  { slots, queue, direct }: GatewayCommandOptions,
  { url, doors, store }: Running,
  { apiKeys, apiKeysFile }: Config,
): string[] {
  const opened = doors[0]?.url ?? "";
  const isOpenai = door?.speaks === "openai";
  // A target with /v1 in it has it already.
  const hasPath = upstream.target.pathname !== "/";
  const base = isOpenai && !hasPath ? `${opened}/v1 (OpenAI's API), ${opened} (everything else)` : opened;
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  const atOnce = slots === 1 ? "one request at a time" : `${slots} requests at a time`;
  return [
    store,
    `base URL for clients: ${base}`,
    ...(hasKeys ? ["clients send one of the API keys, of scope submit"] : []),
    `${upstream.target.href} gets ${atOnce}; to change it now: paihao queues set ${queue} --total ${slots + 1}`,
    ...(isOpenai && !direct ? [`these do not wait: ${QUICK.join(", ")}`] : []),
    `dashboard: ${url}/dashboard/queues/${queue}`,
    `paihao gateway is ready on ${opened}`,
  ];
}

/** Says that the API is away, and when it is there. */
async function waitFor({ protocol, hostname, port, href }: URL, signal: AbortSignal): Promise<void> {
  const address = {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
  };
  for (let isTold = false; !signal.aborted; isTold = true) {
    const fault = await faultOf(address);
    if (signal.aborted) return;
    if (fault === undefined) {
      if (isTold) note(`${href} is there`);
      return;
    }
    if (!isTold) note(`${href} cannot be reached (${fault}); requests wait in line until it can`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS.every).unref());
  }
}

/** Why no connection can be made; undefined if one can. */
function faultOf(address: { readonly host: string; readonly port: number }): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...address, timeout: LOOK_MS.atMost });
    const end = (fault: string | undefined) => {
      socket.destroy();
      resolve(fault);
    };
    socket.once("connect", () => end(undefined));
    socket.once("timeout", () => end("no answer"));
    socket.once("error", (error) => end(reasonOf(error)));
  });
}
