import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Bench, BenchOptions, Figure } from "./harness/bench.ts";
import { bodyOf, makeLoad } from "./harness/load.ts";
import { type ServerSubject, startPaihao, startServerSubject } from "./harness/process.ts";
import { type CpuProfile, shareBy } from "./harness/profile.ts";
import { RUNGS, USUAL } from "./harness/rungs.ts";
import { type BenchStore, withStore } from "./harness/store.ts";
import { inTurns, median } from "./harness/turns.ts";

const WORDS: Readonly<Record<(typeof RUNGS)[number], string>> = {
  socket: "Node's HTTP: socket, parser, a two-byte answer",
  Koa: "Koa",
  router: "@koa/router",
  correlation: "the correlation id, kept by cls-rtracer across asynchronous calls",
  body: "the body read, parsed and sent back",
  reply: "the headers and body of a 202 instead",
};

/** Where the microseconds of one accept go: servers that each do one thing more, then Paihao, and a CPU profile of it. */
export const anatomy: Bench = {
  name: "anatomy",
  title: "Where the CPU time of one accept goes",
  run: (options) => withStore("no persistence", (store) => measure(store, options)),
};

async function measure(store: BenchStore, options: BenchOptions) {
  const seconds = options.quick ? 1.5 : 5;
  const servers = new Map<string, ServerSubject>();
  for (const rung of RUNGS) servers.set(rung, await startServerSubject("ladder", [rung]));
  for (const usual of USUAL) servers.set(usual, await startServerSubject("ladder", ["reply", usual]));
  servers.set("paihao", await startPaihao({ REDIS_URL: store.url, ROLE: "api" }));
  const redis: number[] = [];
  const turn = (name: string) => async () => {
    const server = servers.get(name);
    if (!server) throw new Error(`no server ${name}`);
    await store.clear();
    const [cpu, redisCpu] = [server.cpuSeconds(), store.cpuSeconds()];
    const load = await makeLoad({ port: server.port, seconds, body: bodyOf(56) });
    const requests = load.perSecond * (load.seconds + 0.5);
    if (name === "paihao") redis.push(((store.cpuSeconds() - redisCpu) / requests) * 1e6);
    return ((server.cpuSeconds() - cpu) / requests) * 1e6;
  };
  try {
    const turns = await inTurns(
      options.pairs,
      Object.fromEntries([...RUNGS, ...USUAL, "paihao"].map((name) => [name, turn(name)])),
    );
    const micros = Object.fromEntries(Object.entries(turns).map(([name, values]) => [name, median(values)]));
    const figures = figuresOf(micros, median(redis));
    options.say("profiling");
    const shares = await profile(store, seconds);
    const total = micros.paihao ?? Number.NaN;
    figures.push(
      ...shares.slice(0, 24).map(([where, share]) => ({
        ...figureOf(`in the profile: ${where}`, share * total),
        ours: `${(100 * share).toFixed(1)} %`,
      })),
    );
    const notes = [
      "µs of the server's CPU for one request. Each row is the cost beyond the row above. In the profile, time within Node counts for the package that called it.",
    ];
    return { figures, notes, raw: { turns, redis, shares } };
  } finally {
    for (const server of servers.values()) await server.stop();
  }
}

function figuresOf(micros: Readonly<Record<string, number>>, redis: number): Figure[] {
  let before = 0;
  const figures = RUNGS.map((rung) => {
    const total = micros[rung] ?? Number.NaN;
    const figure = { ...figureOf(WORDS[rung], total - before), ours: `${total.toFixed(1)} µs so far` };
    before = total;
    return figure;
  });
  const total = micros.paihao ?? Number.NaN;
  return [
    ...figures,
    {
      ...figureOf("the task itself: id, options, checks, batch, script, reading the answer", total - before),
      ours: `${total.toFixed(1)} µs in all`,
    },
    figureOf("in addition to the server: Redis, for one task", redis),
    ...USUAL.map((usual) =>
      figureOf(`additional cost of the last server with ${usual}`, (micros[usual] ?? 0) - before),
    ),
  ];
}

function figureOf(figure: string, value: number): Figure {
  return { figure, against: "–", store: "no persistence", ours: "", theirs: "", value, unit: "µs", target: null };
}

/** The shares of CPU time by package and file, the largest first. */
async function profile(store: BenchStore, seconds: number): Promise<[string, number][]> {
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-profile-"));
  try {
    const server = await startPaihao({ REDIS_URL: store.url, ROLE: "api" }, ["--cpu-prof", `--cpu-prof-dir=${dir}`]);
    // All processes share the monotonic clock.
    const fromMicros = Number(process.hrtime.bigint() / 1000n);
    await makeLoad({ port: server.port, seconds: seconds * 2, body: bodyOf(56) });
    await server.stop();
    // Threads write profiles of their own; the server's is the largest.
    const profiles = readdirSync(dir).map((file) => readFileSync(path.join(dir, file), "utf8"));
    const [largest = ""] = profiles.sort((a, b) => b.length - a.length);
    return shareBy(JSON.parse(largest) as CpuProfile, fromMicros);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
