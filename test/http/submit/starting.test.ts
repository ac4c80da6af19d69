import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { eta } from "../../../src/wire/task.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

describe("a submission where no worker runs", () => {
  let handlers: string;
  let servers: TestServer[] = [];
  before(async () => {
    handlers = await mkdtemp(path.join(tmpdir(), "paihao-starting-"));
    await writeFile(
      path.join(handlers, "cold.ts"),
      `import { defineHandler } from "paihao";
export const cold = defineHandler({ queue: "cold", warmup: "70s", concurrency: 2, run: () => "done" });
export const plain = defineHandler({ queue: "plain", run: () => "done" });`,
    );
  });
  after(() => rm(handlers, { recursive: true }));
  afterEach(async () => {
    for (const [n, server] of servers.entries()) await server.stop({ keep: n < servers.length - 1 });
    servers = [];
  });

  const start = async (env: Readonly<Record<string, string>>) => {
    const server = await startServer({ HANDLERS: handlers, ...env });
    servers.push(server);
    return server;
  };
  /** An API whose queues are registered. */
  const startApi = async () => {
    const api = await start({ ROLE: "api" });
    await eventually(async () => (await api.send("/v1/queues/cold")).json.eta !== null);
    return api;
  };
  const submit = (server: TestServer, queue: string) => server.post(queue, 1, { Prefer: "respond-async" });

  it("says when a worker will have started, with a Retry-After", async () => {
    const api = await startApi();
    const accepted = await submit(api, "cold");
    expect(accepted.status).to.equal(202);
    expect(accepted.json.eta).to.deep.include({ seconds: 70, basis: "starting", samples: 0 });
    expect(eta.safeParse(accepted.json.eta).success).to.equal(true);
    expect(Number(accepted.headers["retry-after"])).to.be.within(70, 77);
    const { id } = accepted.json;
    expect((await api.send(`/v1/requests/${id}/status`)).json.eta.basis).to.equal("starting");
    const page = await api.send(`/v1/requests/${id}/status`, { headers: { Accept: "text/html" } });
    expect(page.text).to.match(/A worker is starting, about (?:69|70) s/);
    const queue = (await api.send("/v1/queues/cold")).json;
    expect(queue).to.include({ workers: 0, slotsWanted: 1 });
    expect((await submit(api, "plain")).json.eta, "nothing is known of it").to.equal(null);
  });

  it("is estimated as always once a worker has come, and the start is learned", async () => {
    const api = await startApi();
    const { id } = (await submit(api, "cold")).json;
    await submit(api, "plain");
    const worker = await start({ ROLE: "worker", KEY_PREFIX: api.prefix });
    await api.until(id, "succeeded");
    await eventually(async () => (await api.send("/v1/queues/cold")).json.workers === 1);
    expect((await api.send("/v1/queues/cold")).json.eta.basis).to.equal("idle");
    servers = servers.filter((other) => other !== worker);
    await worker.stop({ keep: true });
    expect((await api.send("/v1/queues/plain")).json.eta).to.include({ basis: "starting", samples: 1 });
  });
});
