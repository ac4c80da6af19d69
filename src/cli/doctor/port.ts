import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../../config/config.ts";
import { ownUrl } from "../../config/shell.ts";
import { messageOf } from "../../errors.ts";
import { readLimited } from "../../net/read-limited.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

const CHECK = "port";
const PROBE_MS = 3000;
/** Limits what is read from another program, which may send anything. */
const ANSWER_BYTES = 100_000;

/** Whether the server can listen on its address, or already does. */
export async function checkPort({ host, port }: Pick<Config, "host" | "port">): Promise<Finding> {
  if (port === undefined) return ok(CHECK, "none: a worker without PORT does not listen");
  const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  try {
    const server = createServer().listen(port, host);
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return ok(CHECK, port === 0 ? `any free one on ${host}` : `${place} is free`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return checkListener(place, ownUrl(host, port));
    if (code === "EACCES") return failure(CHECK, `this user may not listen on ${place}`, "set PORT to one above 1023");
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      return failure(
        CHECK,
        `${host} is not an address of this machine`,
        "set HOST to 127.0.0.1, or to 0.0.0.0 for all",
      );
    }
    return failure(CHECK, `nothing can listen on ${place}: ${messageOf(error)}`, "set HOST and PORT to others");
  }
}

/** Finds out what listens there. */
async function checkListener(place: string, url: string): Promise<Finding> {
  const answer = await readiness(url);
  if (answer === undefined)
    return failure(CHECK, `${place} is taken by another program`, "stop it, or set PORT to another");
  if (answer.reasons.length === 0) return ok(CHECK, `a Paihao server listens on ${place}, and is ready`);
  const advice = "see its log, and the findings on the store";
  return warning(CHECK, `a Paihao server listens on ${place}, but is not ready: ${answer.reasons.join("; ")}`, advice);
}

/** What a server reports about itself; undefined if it is not a Paihao server. */
async function readiness(url: string): Promise<{ reasons: readonly string[] } | undefined> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) });
    const body = await readLimited(response.body, { maxBytes: ANSWER_BYTES });
    const { status, reasons } = JSON.parse(body.toString()) as { status?: unknown; reasons?: unknown };
    return typeof status === "string" && Array.isArray(reasons) ? { reasons: reasons.map(String) } : undefined;
  } catch {
    // It does not speak HTTP, or answers something else.
    return undefined;
  }
}
