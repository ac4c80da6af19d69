import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { verifyStore } from "../../src/engine/maintenance/verify.ts";
import { createLog } from "../../src/log.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { eventually } from "../shared/eventually.ts";
import { call, put, statusOf } from "./api.ts";
import { CASES } from "./cases.ts";
import { Fleet, type HandlerNote, RELEASES, type Release } from "./fleet.ts";
import { Load } from "./load.ts";

/** Tasks that each API accepts in each stage, at least. */
const EACH = 25;
/** Lines that are paused throughout: their tasks, of both releases, wait until the end. */
const LINES = ["line.both", "fairline.both", "keyedline.both"];
const NO_WAIT = { Prefer: "wait=0" };
const WHO = ["ann", "ben", "cem"];

describe("the previous release and this one on one store", function () {
  this.timeout(120_000);
  let fleet: Fleet;
  let load: Load;
  let receiver: Server;
  /** Tasks with a webhook, and the events that came. */
  const told: string[] = [];
  const delivered: string[] = [];
  /** What waits in each line, in order. */
  const waiting = new Map<string, string[]>();
  const rows: string[] = [];

  before(async () => {
    fleet = new Fleet();
    await fleet.open();
    receiver = createServer((request, response) => {
      delivered.push(new URL(request.url ?? "", "http://localhost").pathname.slice(1));
      request.resume().on("end", () => response.end());
    }).listen(0, "127.0.0.1");
    await Promise.all([fleet.startApi("old"), fleet.startWorkers("old")]);
    for (const queue of LINES) await ask("old", `/v1/queues/${queue}/pause`, { method: "POST" });
    load = new Load(fleet);
  });
  afterEach(function () {
    if (this.currentTest?.state === "failed") process.stdout.write(`${fleet.logs()}\n`);
  });
  after(async () => {
    await load?.stop();
    await fleet.stop();
    receiver.close();
    await removeKeys(storeUrl(), fleet.prefix);
  });

  const url = (release: Release) => {
    const found = fleet.url(release);
    if (found === undefined) throw new Error(`there is no API of the ${release} release`);
    return found;
  };
  const ask = (release: Release, path: string, options = {}) => call(`${url(release)}${path}`, options);

  /** Lets callers submit for a while, and adds to the lines. */
  const stage = async (name: string) => {
    const { port } = receiver.address() as AddressInfo;
    for (let n = 0; n < 6; n += 1) {
      for (const queue of LINES) {
        const line = waiting.get(queue) ?? [];
        const id = `${queue.replace(".", "-")}-${line.length}`;
        const release = fleet.apis[n % fleet.apis.length] ?? "new";
        const isTold = queue === LINES[0] && n < RELEASES.length;
        const webhook = isTold ? `?webhook=${encodeURIComponent(`http://127.0.0.1:${port}/${id}`)}` : "";
        if (isTold) told.push(id);
        const { status } = await put(url(release), queue, id, { ms: 1, who: WHO[n % WHO.length] }, webhook);
        expect(status).to.equal(202);
        waiting.set(queue, [...line, id]);
      }
    }
    await load.more(EACH);
    rows.push(name);
  };

  /** Every API of the moment gives every task of the paused lines the same place, and of the plain ones the one it must have. */
  const placesAgree = async () => {
    for (const [queue, ids] of waiting) {
      const places: number[][] = await Promise.all(
        fleet.apis.map((release) => Promise.all(ids.map(async (id) => (await statusOf(url(release), id)).index))),
      );
      for (const [n, of] of places.entries()) {
        expect(
          [...of].sort((a, b) => a - b),
          `places in ${queue} by the ${fleet.apis[n]} API`,
        ).to.deep.equal([...ids.keys()]);
        expect(of, `places in ${queue}`).to.deep.equal(places[0]);
        if (!queue.startsWith("fair")) expect(of, `places in ${queue}`).to.deep.equal([...ids.keys()]);
      }
    }
  };

  it("continue with what the previous release left, and agree on every place", async () => {
    await stage("old");
    await Promise.all([fleet.startApi("new"), fleet.startWorkers("new")]);
    await stage("old and new");
    await placesAgree();
    expect((await ask("old", "/readyz")).json).to.deep.equal({ status: "ready", reasons: [] });
    expect((await ask("new", "/readyz")).json).to.deep.equal({ status: "ready", reasons: [] });
  });

  for (const [name, act] of Object.entries(CASES)) {
    it(`agree on ${name}, whichever release accepts, runs and reports it`, async () => {
      const combinations = RELEASES.flatMap((api) =>
        RELEASES.flatMap((other) => RELEASES.map((runBy) => ({ api, other, runBy }))),
      );
      const results = await Promise.allSettled(
        combinations.map(({ api, other, runBy }) =>
          act({
            api: url(api),
            other: url(other),
            runBy,
            name: `${api}-${runBy}-${other}`,
            entries: () => fleet.entries(),
          }),
        ),
      );
      const wrong = results.flatMap((result, n) =>
        result.status === "rejected" ? [`${Object.values(combinations[n] ?? {}).join(" → ")}: ${result.reason}`] : [],
      );
      expect(wrong, "submitted to → asked at → run by").to.deep.equal([]);
    });
  }

  for (const holder of RELEASES) {
    it(`start no third task of a key after a new input at the other release, if the ${holder} one started two`, async () => {
      const other = holder === "old" ? "new" : "old";
      const [busy, free] = [`${holder}-busy`, `${holder}-free`];
      const submitted = async (id: string, who: string) =>
        expect((await put(url(holder), "pair.nobody", id, { ms: 1, who })).status).to.equal(202);
      const taken = async (count: number): Promise<{ id: string; fence: number }[]> => {
        const body = { worker: holder, count };
        const { json } = await ask(holder, "/v1/queues/pair.nobody/leases", { method: "POST", body, headers: NO_WAIT });
        return json?.items ?? [];
      };
      for (const [id, who] of [
        [`${busy}-1`, busy],
        [`${busy}-2`, busy],
        [`${busy}-3`, busy],
        [`${free}-1`, free],
        [`${free}-2`, free],
      ] as const)
        await submitted(id, who);
      const held = await taken(10);
      expect(held.map(({ id }) => id)).to.deep.equal([`${busy}-1`, `${busy}-2`, `${free}-1`, `${free}-2`]);
      // It came before the two that hold the key which it has now.
      await put(url(other), "pair.nobody", `${busy}-3`, { ms: 1, who: free });
      expect(await taken(10)).to.deep.equal([]);
      for (const { id, fence } of held) {
        await ask(holder, `/v1/leases/${id}/complete`, { method: "POST", body: { fence, result: {} } });
      }
      const [last] = await taken(10);
      expect(last?.id).to.equal(`${busy}-3`);
      await ask(holder, `/v1/leases/${last?.id}/complete`, {
        method: "POST",
        body: { fence: last?.fence, result: {} },
      });
    });
  }

  it("lose nothing while the previous release is replaced, and while it comes back", async () => {
    await Promise.all([fleet.drain("old", "worker"), fleet.drain("old", "api")]);
    await stage("new");
    await placesAgree();
    await Promise.all([fleet.startApi("old"), fleet.startWorkers("old")]);
    await stage("old and new, to roll back");
    await placesAgree();
    await Promise.all([fleet.drain("new", "worker"), fleet.drain("new", "api")]);
    await stage("old again");
    await placesAgree();
    await load.stop();
  });

  it("give every task exactly one outcome, in the order of its line", async () => {
    for (const queue of LINES) await ask("old", `/v1/queues/${queue}/resume`, { method: "POST" });
    const ids = [...load.accepted.keys(), ...[...waiting.values()].flat()];
    await eventually(async () => {
      const open = (await Promise.all(ids.map((id) => statusOf(url("old"), id)))).filter(
        ({ state }) => state !== "succeeded",
      );
      expect(open.slice(0, 3), `${open.length} of ${ids.length} that have not succeeded`).to.deep.equal([]);
    }, 30_000);
    await eventually(() => expect([...delivered].sort()).to.deep.equal([...told].sort()), 45_000);

    const ends = new Map<string, HandlerNote[]>();
    for (const entry of fleet.entries()) {
      if (entry.what === "ends") ends.set(entry.id, [...(ends.get(entry.id) ?? []), entry]);
    }
    expect(
      ids.filter((id) => ends.get(id)?.length !== 1),
      "run not at all, or more than once",
    ).to.deep.equal([]);
    for (const who of WHO) {
      const ofKey = (list: readonly string[]) => list.filter((_, n) => WHO[(n % 6) % WHO.length] === who);
      const line = waiting.get("keyedline.both") ?? [];
      const ran = fleet.entries().filter(({ id, what }) => what === "begins" && ofKey(line).includes(id));
      expect(
        ran.map(({ id }) => id),
        `tasks of ${who}`,
      ).to.deep.equal(ofKey(line));
    }
    expect(besideEachOther("keyed.both", 1), "tasks of one key that ran beside each other").to.deep.equal([]);
    expect(besideEachOther("pair.both", 2), "more than two tasks of a key that ran beside each other").to.deep.equal(
      [],
    );
    const { disagreeing } = await verifyStore(storeUrl(), fleet.prefix, { heal: false }, createLog("silent"));
    expect(disagreeing, "tasks that disagree with their index").to.deep.equal([]);
    process.stdout.write(tally(ids, ends));
  });

  /** Tasks of one key that ran at once, where these were more than its limit. */
  const besideEachOther = (queue: string, limit: number): string[] => {
    const running = new Map<string, string[]>();
    const tooMany: string[] = [];
    for (const { id, what } of fleet.entries()) {
      const task = load.accepted.get(id);
      if (task?.queue !== queue) continue;
      const others = (running.get(task.who) ?? []).filter((other) => other !== id);
      if (what === "begins" && others.length >= limit) tooMany.push(`${others.join(", ")} and ${id}`);
      running.set(task.who, what === "begins" ? [...others, id] : others);
    }
    return tooMany;
  };

  const tally = (ids: readonly string[], ends: ReadonlyMap<string, readonly HandlerNote[]>): string => {
    const by = (accepted: Release, ran: Release) =>
      [...load.accepted].filter(([id, { api }]) => api === accepted && ends.get(id)?.[0]?.release === ran).length;
    const table = RELEASES.map((api) => `  ${api} API: ${by(api, "old")} run by old, ${by(api, "new")} by new`);
    return [
      `\n${fleet.previous.commit} (old) and this version (new) on one store: ${rows.join("; ")}`,
      ...table,
      `  in lines that outlasted all of it: ${ids.length - load.accepted.size}; webhooks: ${delivered.length}`,
      `  ${ids.length} accepted, 0 lost, 0 run twice, ${load.again} submitted again while an API went\n\n`,
    ].join("\n");
  };
});
