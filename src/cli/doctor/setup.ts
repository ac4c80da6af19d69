/** The checks of what a server needs besides its store: Node, settings, keys, handlers and a port. */

import { once } from "node:events";
import { createServer } from "node:net";
import { KeyRing } from "../../auth/key-ring.ts";
import { type Config, misspeltVariables } from "../../config/config.ts";
import { messageOf, StartError } from "../../errors.ts";
import { loadHandlers, shippedHandlersDir } from "../../handler/load.ts";
import { createLog } from "../../log.ts";
import { readLimited } from "../../net/read-limited.ts";
import { ownUrl } from "../environment.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

/** The oldest version that works, and the oldest that still gets fixes. */
const OLDEST = { working: [20, 19], maintained: 22 } as const;

/** Whether the server runs in this version of Node. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [minMajor, minMinor] = OLDEST.working;
  const advice = "install Node 24, or 22";
  if (major < minMajor || (major === minMajor && minor < minMinor)) {
    return failure("node", `Node ${version} is too old: ${OLDEST.working.join(".")} or later is needed`, advice);
  }
  if (major < OLDEST.maintained)
    return warning("node", `Node ${version} works, but gets no more security fixes`, advice);
  return ok("node", `Node ${version}`);
}

/** Variables that are probably misspelt: the server ignores them silently. */
export function checkVariables(): Finding[] {
  return misspeltVariables().map(({ name, meant }) =>
    warning(
      "settings",
      `nothing reads ${name}`,
      meant === undefined ? "remove it" : `did you mean ${meant}? Rename it`,
    ),
  );
}

/** Whether the API keys can be read, as the server reads them; undefined if there is no key file. */
export function checkKeys({ apiKeys, apiKeysFile }: Pick<Config, "apiKeys" | "apiKeysFile">): Finding | undefined {
  if (apiKeysFile === undefined) return undefined;
  try {
    new KeyRing(apiKeys, apiKeysFile, { log: createLog("silent") });
    return ok("keys", `read from ${apiKeysFile}`);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return failure("keys", messageOf(error), "correct API_KEYS_FILE; paihao keys create adds a key to it");
  }
}

/** Whether the handlers can be loaded, as the server loads them, and their queues. */
export async function checkHandlers({
  handlersDir,
}: Pick<Config, "handlersDir">): Promise<{ finding: Finding; queues: readonly string[] }> {
  const where = handlersDir ?? "those that ship with the server; HANDLERS names others";
  try {
    const queues = [...(await loadHandlers(handlersDir ?? shippedHandlersDir)).keys()];
    return { finding: ok("handlers", `${queues.join(", ")} (${where})`), queues };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const advice = "fix that file, or set HANDLERS to another directory";
    return { finding: failure("handlers", messageOf(error), advice), queues: [] };
  }
}

const PROBE_MS = 3000;
/** Limits what is read from another program, which may send anything. */
const ANSWER_BYTES = 5_000_000;

/** Whether the server can listen on its address, or already does, with these queues. */
export async function checkPort(
  { host, port }: Pick<Config, "host" | "port">,
  queues: readonly string[],
): Promise<Finding> {
  if (port === undefined) return ok("port", "none: a worker without PORT does not listen");
  const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  try {
    const server = createServer().listen(port, host);
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return ok("port", port === 0 ? `any free one on ${host}` : `${place} is free`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return checkListener(place, ownUrl(host, port), queues);
    if (code === "EACCES") return failure("port", `this user may not listen on ${place}`, "set PORT to one above 1023");
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      return failure(
        "port",
        `${host} is not an address of this machine`,
        "set HOST to 127.0.0.1, or to 0.0.0.0 for all",
      );
    }
    return failure("port", `nothing can listen on ${place}: ${messageOf(error)}`, "set HOST and PORT to others");
  }
}

/** Finds out what listens there. */
async function checkListener(place: string, url: string, queues: readonly string[]): Promise<Finding> {
  const answer = await readiness(url);
  if (answer === undefined)
    return failure("port", `${place} is taken by another program`, "stop it, or set PORT to another");
  const served = await queuesAt(url);
  const missing = served && queues.filter((queue) => !served.includes(queue));
  if (missing?.[0] !== undefined) {
    return warning(
      "port",
      `a Paihao server listens on ${place}, and serves ${served?.join(", ") || "no queue"}, not ${missing.join(", ")}`,
      "set PORT to another, or stop that server and start it with these handlers",
    );
  }
  if (answer.reasons.length === 0) return ok("port", `a Paihao server listens on ${place}, and is ready`);
  const advice = "see its log, and the findings on the store";
  return warning("port", `a Paihao server listens on ${place}, but is not ready: ${answer.reasons.join("; ")}`, advice);
}

/** What a server reports about itself; undefined if it is not a Paihao server. */
async function readiness(url: string): Promise<{ reasons: readonly string[] } | undefined> {
  const { status, reasons } = (await documentAt(`${url}/readyz`)) ?? {};
  return typeof status === "string" && Array.isArray(reasons) ? { reasons: reasons.map(String) } : undefined;
}

/** The queues to which a server accepts submissions; undefined if it does not say. */
async function queuesAt(url: string): Promise<readonly string[] | undefined> {
  const { paths } = (await documentAt(`${url}/openapi.json`)) ?? {};
  if (typeof paths !== "object" || paths === null) return undefined;
  return Object.keys(paths).flatMap((route) => /^\/v1\/queues\/([^/{]+)\/requests$/.exec(route)?.[1] ?? []);
}

/** A JSON document of another program; undefined if it does not speak HTTP, or answers something else. */
async function documentAt(url: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    const body = await readLimited(response.body, { maxBytes: ANSWER_BYTES });
    const document: unknown = JSON.parse(body.toString());
    return typeof document === "object" && document !== null ? { ...document } : undefined;
  } catch {
    return undefined;
  }
}
