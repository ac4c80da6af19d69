import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect } from "chai";
import type { Redis } from "ioredis";
import { parse } from "yaml";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";
import { exchange } from "../helpers/http/server.ts";
import { type Prometheus, startPrometheus } from "../helpers/prometheus.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { storeKind } from "../helpers/store/run-store.ts";
import { storedKey } from "../helpers/store/stored.ts";
import { keepFromSaving } from "../helpers/store/unsaved.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { programOnPath } from "../shared/programs.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";
import { ROOT } from "../shared/root.ts";

interface Rule {
  readonly alert: string;
  expr: string;
  for?: string;
}

/** What would take minutes: an alert's threshold, as it is in deploy/prometheus/alerts.yaml and as it is here. */
const THRESHOLDS: Readonly<Record<string, readonly [from: string, to: string]>> = {
  PaihaoOldestWaitHigh: ["> 900", "> 1"],
  PaihaoScheduledLate: ["> 30", "> 1"],
  PaihaoScheduleLate: ["> 60", "> 1"],
};

/** The project's own rules, but every `for` is a second, and with the thresholds above. */
function hastyRules(): { groups: { rules: Rule[] }[] } {
  const rules = parse(readFileSync(path.join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8"));
  for (const rule of rules.groups.flatMap((group: { rules: Rule[] }) => group.rules) as Rule[]) {
    if (rule.for !== undefined) rule.for = "1s";
    const [from, to] = THRESHOLDS[rule.alert] ?? ["", ""];
    expect(rule.expr).to.include(from);
    rule.expr = rule.expr.replace(from, to);
  }
  return rules;
}

/** Leaves a task in a queue whose handler is gone: its last process registered it ten minutes ago. */
async function leaveOrphan(url: string): Promise<TestEngine> {
  const last = await openEngine({ url, prefix: "ph" });
  await last.engine.upkeep.tick(0);
  await last.submit();
  const registry = storedKey(last.keys.tag(0), "queues");
  const [at, ...facts] = String(await last.redis.hget(registry, "jobs")).split(" ");
  await last.redis.hset(registry, "jobs", [Number(at) - 600_000, ...facts].join(" "));
  return last;
}

const FIXTURES = path.join(ROOT, "test/fixtures/handlers/alerts");
const program = programOnPath("prometheus");
const withPrometheus = program === undefined ? describe.skip : describe;

withPrometheus(`the alerts${program ? "" : " (need prometheus of Debian's package)"}`, function () {
  this.timeout(240_000);
  const rules = hastyRules();
  const processes: ServerProcess[] = [];
  const stores: PrivateRedis[] = [];
  const admins: Redis[] = [];
  let receiver: http.Server;
  let prometheus: Prometheus | undefined;
  let last: TestEngine | undefined;
  /** Has a queue for each fault of queues. */
  let api: ServerProcess;
  /** Is blocked, then killed; on the store of `api`. */
  let worker: ServerProcess;
  /** Its store goes wrong. */
  let unlucky: ServerProcess;

  before(async function () {
    if (storeKind() === "embedded") this.skip();
    receiver = http.createServer((_, answer) => answer.writeHead(500).end()).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    stores.push(...(await Promise.all([startRedis(), startRedis()])));
    const [healthy, faulty] = stores.map(({ url }) => url) as [string, string];
    for (const url of [healthy, faulty]) admins.push((await connectOnce(url)) as Redis);
    const start = async (REDIS_URL: string, handlers: string, env: Readonly<Record<string, string>> = {}) => {
      const HANDLERS = path.join(FIXTURES, handlers);
      const started = await startProcess({ REDIS_URL, HANDLERS, PORT: "0", LOG_LEVEL: "error", ...env });
      processes.push(started);
      return started;
    };
    last = await leaveOrphan(healthy);
    const NOWHERE = `http://127.0.0.1:${await reservePort()}`;
    worker = await start(healthy, "worker");
    [api, unlucky] = await Promise.all([
      start(healthy, "api", { NOWHERE, WEBHOOK_ALLOW: "127.0.0.1" }),
      start(faulty, "worker"),
    ]);
    const jobs = { "paihao-api": [api.url, unlucky.url], "paihao-worker": [worker.url] };
    prometheus = await startPrometheus(String(program), rules, jobs);
  });
  after(async () => {
    await prometheus?.stop();
    await endProcesses(processes);
    await last?.close();
    for (const admin of admins) admin.disconnect();
    await Promise.all(stores.map((store) => store.stop("SIGKILL")));
    receiver?.close();
  });

  const seen = new Set<string>();
  /** Waits until all of these have fired, each with what tells it from others of its name. */
  const fire = async (...expected: readonly string[]) => {
    await eventually(async () => {
      for (const { labels } of (await prometheus?.firing()) ?? []) {
        const { alertname, severity, queue = labels.job ?? "" } = labels;
        for (const one of [`${alertname}`, `${alertname} ${severity}`, `${alertname} ${queue}`]) seen.add(one);
      }
      expect([...seen]).to.include.members(expected);
    }, 90_000);
  };
  const submit = (server: ServerProcess, queue: string, input: unknown, { search = "", wait = false } = {}) =>
    exchange(new URL(`/v1/queues/${queue}/requests${search}`, server.url), {
      method: "POST",
      headers: wait ? {} : { Prefer: "respond-async" },
      body: JSON.stringify(input),
    });
  const batch = (queue: string, lines: number, input: unknown) =>
    exchange(new URL(`/v1/queues/${queue}/batches`, api.url), {
      method: "POST",
      headers: { "Content-Type": "application/x-ndjson" },
      body: `${JSON.stringify(input)}\n`.repeat(lines),
    });
  const times = (count: number) => Array.from({ length: count });

  it("fire in a real Prometheus, each by its fault, even for the first event of new processes", async () => {
    // But for a start that a busy machine slows down.
    const early = async () => (await prometheus?.firing())?.map(({ labels }) => labels.alertname) ?? [];
    await eventually(
      async () => expect((await early()).filter((name) => name !== "PaihaoEventLoopBlocked")).to.be.empty,
    );
    const [admin, faultyAdmin] = admins as [Redis, Redis];

    // The processes know each other's queues.
    await eventually(async () => {
      const known = await prometheus?.query(
        'paihao_lost_tasks_total{queue="blocking", outcome="dead", job="paihao-api"} == 0',
      );
      expect(known).to.have.lengthOf(2);
    });
    // A worker that is blocked for longer than its lease: its task is found by the other process, which has no such handler.
    await submit(worker, "blocking", 11_000);
    // Refused writes and a full store, in the other one. What is due meanwhile stays where it is.
    await submit(unlucky, "blocking", 1, { search: "?delay=1" });
    await keepFromSaving(faultyAdmin, stores[1]?.dir ?? "");
    const used = Number(/used_memory:(\d+)/.exec(await faultyAdmin.info("memory"))?.[1]);
    await faultyAdmin.config("SET", "maxmemory", String(used));
    await Promise.all(times(8).map(() => submit(unlucky, "blocking", 1)));
    await admin.config("SET", "maxmemory-policy", "allkeys-lru");

    // Its estimates count on 200 ms a task; then all of them end at once.
    for (const _ of times(10)) await submit(api, "jumpy", 200, { wait: true });
    await submit(api, "jumpy", 3000);
    await batch("jumpy", 600, 0);
    await submit(api, "failing", 1, {
      search: `?webhook=http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    });
    for (const _ of times(15)) expect((await submit(api, "failing", 1, { wait: true })).status).to.equal(500);
    await exchange(new URL("/v1/queues/paused/pause", api.url), { method: "POST" });
    for (const n of times(6).keys())
      await exchange(new URL(`/v1/gateway/shop/${n}`, api.url), { headers: { Prefer: "respond-async" } });
    await submit(api, "unserved", 1);
    await batch("growing", 150, 1);
    // Only one of them may wait.
    const startAt = new Date(Date.now() + 1000).toISOString();
    for (const id of ["one", "other"]) {
      const body = JSON.stringify({ queue: "limited", input: 1, every: "1h", startAt });
      await exchange(new URL(`/v1/schedules/${id}`, api.url), { method: "PUT", body });
    }

    await fire("PaihaoStoreRefusesWrites critical", "PaihaoStoreNotSaving critical", "PaihaoScheduledLate blocking");
    await fire("PaihaoStoreMemoryHigh warning", "PaihaoStoreMemoryHigh critical", "PaihaoSubmissionsRefused blocking");
    await fire("PaihaoNotReady paihao-api", "PaihaoServerErrors paihao-api", "PaihaoWebhooksFailing");
    await fire("PaihaoDeadTasks failing", "PaihaoFailureRateHigh failing", "PaihaoQueueResting shop");
    await fire("PaihaoNoWorkers unserved", "PaihaoOldestWaitHigh growing", "PaihaoLineGrowing growing");
    await fire("PaihaoScheduleLate");
    await fire("PaihaoQueuePausedLong paused", "PaihaoEstimatesWrong jumpy", "PaihaoLeasesLost blocking");
    await fire("PaihaoEventLoopBlocked warning", "PaihaoEventLoopBlocked critical");
    // Not only since the process is young: its counter began at 0, so that this one loss is an increase.
    await eventually(async () => {
      const lost = await prometheus?.query(
        'increase(paihao_lost_tasks_total{queue="blocking", outcome="dead"}[5m]) > 0',
      );
      expect(lost).to.have.length.above(0);
    });
    await endProcesses([worker]);
    await stores[1]?.stop("SIGKILL");
    await fire("PaihaoStoreUnreachable critical", "PaihaoDown paihao-worker", "PaihaoQueueOrphaned jobs");

    // None is left out, but for one that needs an hour of history, and one for which the store must accept writes: alerts.test.yaml has both.
    const others = new Set(["PaihaoHandlerSlow", "PaihaoStoreFull"]);
    const all = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
    expect([...seen]).to.include.members(all.filter((alert) => !others.has(alert)));
  });
});
