import type { Redis } from "ioredis";
import type { Config } from "../../config/config.ts";
import { figuresOf } from "../../engine/queues.ts";
import { dataVersionProblem } from "../../engine/upkeep/deployment.ts";
import { Tick } from "../../engine/upkeep/tick.ts";
import { verifyStore } from "../../engine/upkeep/verify.ts";
import { messageOf, reasonOf, StartError } from "../../errors.ts";
import { PARTS } from "../../extras/extras.ts";
import { isInternalQueue } from "../../handler/internal-queues.ts";
import type { Logger } from "../../log.ts";
import { nodesOf } from "../../store/cluster-routing.ts";
import { type Connection, isCluster, mastersOf } from "../../store/connection.ts";
import { Confirmation, checkDurability, durabilityProblem } from "../../store/durability.ts";
import { Keys } from "../../store/keys.ts";
import { scriptsOf } from "../../store/library/scripts.ts";
import type { QueueRow } from "../../store/line/queue.ts";
import { missingRights } from "../../store/rights.ts";
import { checkServer, persistenceProblem, readInfo } from "../../store/servers/check-server.ts";
import { refusalOf } from "../../store/store-error.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

/** Values from which something is reported. */
const LIMITS = {
  /** Of the store's memory limit, or of the machine's memory without one. */
  memory: { warning: 0.8, error: 0.95 },
  clockMs: 1000,
  latencyMs: 5,
} as const;
const ROUND_TRIPS = 20;
const MIB = 1024 * 1024;

/**
 * Checks a reachable store: version, eviction, persistence, memory, clock and latency, of each master in a cluster.
 */
export async function checkStore(
  connection: Connection,
  config: Config,
): Promise<{ findings: Finding[]; version?: string }> {
  const findings: Finding[] = [];
  let known: string | undefined;
  try {
    const { version, policy, warnings } = await checkServer(connection);
    known = version;
    findings.push(ok("version", version), evictionOf(policy, warnings));
    await checkDurability(connection, config.durability, version);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    findings.push(failure("store", messageOf(error), "the server does not start with it"));
  }
  // The rest applies only to a supported server.
  if (known === undefined) return { findings };
  const masters = mastersOf(connection);
  for (const node of masters) {
    const place = masters.length > 1 ? `${node.options.host}:${node.options.port}: ` : "";
    const info = await readInfo(node);
    const ofNode = [roleOf(info), persistenceOf(info), memoryOf(info), await clockOf(node), await latencyOf(node)];
    findings.push(
      ...ofNode.flatMap((finding) => (finding ? [{ ...finding, message: `${place}${finding.message}` }] : [])),
    );
  }
  return { findings, version: known };
}

/** Whether the settings have the number of partitions with which the store was created. Undefined if nothing is stored yet. */
export async function checkPartitions(connection: Connection, config: Config): Promise<Finding | undefined> {
  const stored = await connection.get(new Keys(config.keyPrefix, 1).claim);
  if (stored === null) return undefined;
  if (Number(stored) === config.partitions) return ok("partitions", stored);
  return failure(
    "partitions",
    `PARTITIONS is ${config.partitions}, but the store has ${stored} under KEY_PREFIX ${config.keyPrefix}`,
    `set PARTITIONS to ${stored}`,
  );
}

/** Whether this release can work with the data. Undefined if nothing is stored yet. */
export async function checkDataVersion(connection: Connection, config: Config): Promise<Finding | undefined> {
  const keys = new Keys(config.keyPrefix, 1);
  const problem = await dataVersionProblem(connection, keys);
  if (problem === undefined) {
    const stored = await connection.get(keys.dataVersion);
    return stored === null ? undefined : ok("data", `version ${stored}`);
  }
  const [what = "", ...advice] = problem.split("; ");
  return failure("data", what, advice.join("; "));
}

function evictionOf(policy: string, warnings: readonly string[]): Finding {
  const [problem] = warnings;
  if (problem === undefined) return ok("eviction", policy);
  const [what = "", ...advice] = problem.split("; ");
  return (policy === "unknown" ? warning : failure)("eviction", what, advice.join("; "));
}

type Info = ReadonlyMap<string, string>;

function roleOf(info: Info): Finding | undefined {
  if (info.get("role") !== "slave") return undefined;
  return failure(
    "role",
    "the store is a replica, which accepts no writes",
    "set REDIS_URL to its master, or use sentinels",
  );
}

function persistenceOf(info: Info): Finding {
  const check = "persistence";
  const problem = persistenceProblem(info);
  if (problem !== undefined) return failure(check, problem, "make room on the store's disk, and see its log");
  if (info.get("aof_enabled") === "1") return ok(check, "append-only file");
  const savedS = Number(info.get("rdb_last_save_time"));
  const age = Number.isFinite(savedS) ? `, of ${new Date(savedS * 1000).toISOString()}` : "";
  return warning(
    check,
    `no append-only file: a crash of the store loses everything after its last snapshot${age}`,
    "CONFIG SET appendonly yes, or appendonly yes in redis.conf, or your provider's setting",
  );
}

function memoryOf(info: Info): Finding {
  const number = (name: string) => Number(info.get(name) ?? 0);
  const [used, limit, machine] = [number("used_memory"), number("maxmemory"), number("total_system_memory")];
  const max = limit || machine;
  const whole = limit ? "its limit" : "the machine's memory";
  const text = `${Math.ceil(used / MIB)} MiB used${max ? `, ${Math.round((used / max) * 100)} % of ${whole}` : ""}`;
  if (max === 0 || used < max * LIMITS.memory.warning) return ok("memory", text);
  const advice =
    "raise maxmemory, give the store more memory, or lower RESULT_TTL; when it is full, submissions get 503";
  return (used < max * LIMITS.memory.error ? warning : failure)("memory", text, advice);
}

async function clockOf(node: Redis): Promise<Finding> {
  const before = Date.now();
  const [seconds = 0, micros = 0] = (await node.time()).map(Number);
  const aheadMs = seconds * 1000 + micros / 1000 - (before + Date.now()) / 2;
  const size = Math.abs(aheadMs);
  if (size < LIMITS.clockMs) return ok("clock", `within ${Math.max(1, Math.round(size))} ms of this machine's`);
  return warning(
    "clock",
    `the store's clock is ${(size / 1000).toFixed(1)} s ${aheadMs > 0 ? "ahead of" : "behind"} this machine's`,
    "synchronise both by NTP; delays and deadlines follow the store's, signed links and log lines this machine's",
  );
}

async function latencyOf(node: Redis): Promise<Finding> {
  const times: number[] = [];
  for (let n = 0; n < ROUND_TRIPS; n += 1) {
    const began = performance.now();
    // PING is refused by a store that cannot save.
    await node.time();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  const [median = 0, slowest = 0] = [times[ROUND_TRIPS / 2], times.at(-1)];
  const text = `${median.toFixed(1)} ms a round trip, ${slowest.toFixed(1)} ms the slowest of ${ROUND_TRIPS}`;
  if (median < LIMITS.latencyMs) return ok("latency", text);
  return warning("latency", text, "run the server near its store: each task needs a few round trips");
}

const SEE_LOG = "see its log";

/** Whether the store accepts writes and messages from the server's user, with the configured durability. */
export async function checkAccess(connection: Connection, config: Config): Promise<Finding[]> {
  const { durability, strictResultTtl } = config;
  const keys = new Keys(config.keyPrefix, config.partitions);
  try {
    const missing = await missingRights({ connection, keys, config, parts: PARTS });
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

/** Whether every queue in the store that holds tasks has a worker. */
export async function checkQueues(
  connection: Connection,
  config: Pick<Config, "keyPrefix" | "partitions" | "strictResultTtl">,
  handled: ReadonlySet<string>,
): Promise<Finding[]> {
  const keys = new Keys(config.keyPrefix, config.partitions);
  const scripts = scriptsOf(connection, { strictResultTtl: config.strictResultTtl, parts: PARTS });
  const registered = new Tick(scripts, keys, new Map());
  const names = await Promise.all(keys.tags.map((_, partition) => registered.queuesOf(partition)));
  const rows = await figuresOf(scripts, keys, names.flat().sort());
  const findings = rows.flatMap((row) => findingOf(row, handled));
  return findings.length > 0 ? findings : [ok("queues", `${rows.length}; every queue with tasks has a worker`)];
}

function findingOf({ snapshot, dead }: QueueRow, handled: ReadonlySet<string>): Finding[] {
  const { queue, waiting, scheduled, running, workers } = snapshot;
  if (workers > 0) return [];
  if (handled.has(queue) || isInternalQueue(queue)) {
    if (waiting === 0) return [];
    const text = `no live worker takes tasks from ${queue}, where ${waiting} wait`;
    return [warning("queues", text, "start one: paihao start, with ROLE=worker beside API processes")];
  }
  if (waiting + scheduled + running + dead === 0) return [];
  const tasks = Object.entries({ waiting, scheduled, running, dead }).flatMap(([state, n]) =>
    n > 0 ? `${n} ${state}` : [],
  );
  return [
    warning(
      "queues",
      `${queue} is orphaned: neither a live worker nor HANDLERS here has a handler for it (${tasks.join(", ")})`,
      "start workers that have its handler; if it was removed for good, cancel its tasks",
    ),
  ];
}

/** The index of every queue, by the verification of the engine. */
export async function checkIndex(url: string, config: Config, heal: boolean, log: Logger): Promise<Finding> {
  const { tasks, entries, disagreeing } = await verifyStore(url, config.keyPrefix, { heal, parts: PARTS }, log);
  const looked = `${tasks} tasks and ${entries} index entries`;
  if (disagreeing.length === 0) return ok("index", `${looked} agree`);
  const some = `${disagreeing.slice(0, 3).join(", ")}${disagreeing.length > 3 ? " …" : ""}`;
  if (heal) return ok("index", `${disagreeing.length} of ${looked} disagreed, and were repaired: ${some}`);
  const advice = "paihao doctor --heal repairs them, also while servers run";
  return failure("index", `${disagreeing.length} of ${looked} disagree: ${some}`, advice);
}
