import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Handler } from "../../src/handler/define.ts";
import { eventually } from "../../testbed/eventually.ts";
import * as fixtures from "../fixtures/handlers/workers/handlers.ts";
import { exchange } from "../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

const HANDLERS = path.join(import.meta.dirname, "../fixtures/handlers/workers");

describe("worker processes", function () {
  this.timeout(60_000);
  let shop: Workshop;
  let dir: string;
  let journal: string;
  const processes: ServerProcess[] = [];

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-workers-"));
    journal = path.join(dir, "journal");
    // No worker of its own, and no time passes but in the processes.
    shop = await openWorkshop([fixtures.slow] as Handler[], { timeless: true });
  });
  afterEach(async () => {
    await endProcesses(processes.splice(0));
    await shop.close();
    await rm(dir, { recursive: true });
  });

  const start = async (role: string, env: Readonly<Record<string, string>> = {}) => {
    const port: Readonly<Record<string, string>> = role === "worker" ? {} : { PORT: "0" };
    const server = await startProcess({ ROLE: role, KEY_PREFIX: shop.prefix, HANDLERS, ...port, ...env });
    processes.push(server);
    return server;
  };
  const begun = (id: string, times = 1) =>
    eventually(async () => {
      const lines = (await readFile(journal, "utf8")).split("\n").filter((line) => line.startsWith(`${id} begins`));
      return lines.length >= times;
    });

  it("finish a task whose worker was killed in the middle of it", async () => {
    const first = await start("worker");
    const id = await shop.submit({ journal, ms: 60_000, againMs: 10 });
    await begun(id);
    const second = await start("worker");
    first.child.kill("SIGKILL");
    const { pid } = (await shop.answer(id)) as { pid: number };
    expect(pid).to.not.equal(first.pid);
    expect(await shop.look(id)).to.include({ state: "succeeded", lost: 1, attempts: 1 });
    second.child.kill("SIGTERM");
    expect(await second.ended).to.equal(0);
  });

  it("say in one line that they are ready, drain on SIGTERM, and end with code 0", async () => {
    const worker = await start("worker", { DRAIN_TIMEOUT: "10s", LOG_LEVEL: "info" });
    expect(worker.said.filter((line) => /ready/.test(line))).to.have.length(1);
    expect(worker.said.at(-1)).to.match(/^paihao worker is ready · queues: .*slow.* · store: /);
    const id = await shop.submit({ journal, ms: 1000 });
    await begun(id);
    worker.child.kill("SIGTERM");
    await eventually(() => worker.logged.some((line) => line.includes("waiting for running tasks")));
    const late = await shop.submit({ journal, ms: 1 });
    expect(await worker.ended).to.equal(0);
    expect((await shop.look(id)).state).to.equal("succeeded");
    expect(await shop.look(late)).to.include({ state: "waiting", index: 0 });
  });

  it("hand back to its old place what they cannot drain in time", async () => {
    const worker = await start("worker", { DRAIN_TIMEOUT: "100ms" });
    const id = await shop.submit({ journal, ms: 60_000 });
    await begun(id);
    worker.child.kill("SIGTERM");
    expect(await worker.ended).to.equal(0);
    expect(await shop.look(id)).to.include({ state: "waiting", index: 0, attempts: 0, lost: 0 });
  });

  it("do what an API process has accepted before they were there, though it was killed since", async () => {
    const api = await start("api");
    const headers = { Prefer: "respond-async", "Content-Type": "application/json" };
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const url = new URL("/v1/queues/slow/requests", api.url);
        const answer = await exchange(url, { method: "POST", headers, body: { journal, ms: 10 } });
        expect(answer.status).to.equal(202);
        return String(answer.headers["x-request-id"]);
      }),
    );
    api.child.kill("SIGKILL");
    await api.ended;
    const [again] = await Promise.all([start("api"), start("worker")]);
    for (const id of ids) {
      let status = 404;
      await eventually(async () => {
        ({ status } = await exchange(new URL(`/v1/requests/${id}`, again.url)));
        return status !== 404;
      });
      expect(status).to.equal(200);
    }
    const lines = (await readFile(journal, "utf8")).split("\n").filter((line) => line.includes("begins"));
    expect(lines.length).to.equal(20);
  });
});
