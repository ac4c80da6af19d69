import type { Config } from "../../config/config.ts";
import { reasonOf } from "../../errors.ts";
import { PARTS } from "../../extras/extras.ts";
import { missingAccess } from "../../store/access.ts";
import { nodesOf } from "../../store/cluster-routing.ts";
import { type Connection, isCluster } from "../../store/connection.ts";
import { Confirmation, durabilityProblem } from "../../store/durability.ts";
import { Keys } from "../../store/keys.ts";
import { scriptsOf } from "../../store/library/scripts.ts";
import { refusalOf } from "../../store/store-error.ts";
import { type Finding, failure, ok } from "./finding.ts";

const SEE_LOG = "see its log";

/** Whether the store accepts writes and messages from the server's user, with the configured durability. */
export async function checkAccess(connection: Connection, config: Config): Promise<Finding[]> {
  const { durability, strictResultTtl } = config;
  const keys = new Keys(config.keyPrefix, config.partitions);
  try {
    const missing = await missingAccess({ connection, keys, config, parts: PARTS });
    if (missing !== undefined) return [split("rights", missing)];
    const findings = [ok("writes", "accepted, and messages arrive")];
    if (durability === "memory") return findings;
    // Durability is confirmed for what the same connection has written.
    const { probe } = scriptsOf(connection, { strictResultTtl, parts: PARTS });
    await probe(keys.tag(0), { publish: isCluster(connection) ? "SPUBLISH" : "PUBLISH" });
    const confirmation = new Confirmation(durability);
    const confirmed = await nodesOf(connection).run(keys.tag(0), (node) => confirmation.confirm(node));
    if (confirmed) return [...findings, ok("durability", `${durability}, confirmed`)];
    const late = `DURABILITY is ${durability}, but was not confirmed in time: submissions are answered 503 not-durable`;
    const problem = (await durabilityProblem(connection, durability)) ?? late;
    return [
      ...findings,
      failure("durability", problem, "see the replicas or the disk of the store, or change DURABILITY"),
    ];
  } catch (error) {
    return [split("writes", refusalOf(error) ?? reasonOf(error))];
  }
}

/** A finding from a sentence; the part after the semicolon is advice. */
function split(check: string, sentence: string): Finding {
  const [what = "", ...advice] = sentence.split("; ");
  return failure(check, what, advice.length > 0 ? advice.join("; ") : SEE_LOG);
}
