import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

describe("a queue with a rate, over HTTP", () => {
  let handlers: string;
  let server: TestServer;
  before(async () => {
    handlers = await mkdtemp(path.join(tmpdir(), "paihao-rate-"));
    await writeFile(
      path.join(handlers, "paced.ts"),
      `import { defineHandler } from "paihao";
export const paced = defineHandler({ queue: "paced", concurrency: 3, rate: { max: 5, per: "1m" }, run: () => "done" });`,
    );
    server = await startServer({ HANDLERS: handlers });
  });
  after(async () => {
    await server.stop();
    await rm(handlers, { recursive: true });
  });

  it("says how long it holds a task, and why: in headers, documents and pages", async () => {
    const read = async (of: string) => (await server.send(of)).json;
    const rate = { max: 5, per: "1m" };
    await eventually(async () => (await read("/v1/queues/paced")).settings.rate.now !== null);
    expect((await read("/v1/queues/paced")).settings).to.deep.equal({
      concurrency: { declared: 3, now: 3 },
      total: { declared: null, now: null },
      rate: { declared: rate, now: rate },
    });
    const headers = { Prefer: "respond-async" };
    const submit = (query = "") =>
      server.send(`/v1/queues/paced/requests${query}`, { method: "POST", body: 1, headers });
    for (let n = 0; n < 5; n += 1) await server.until((await submit()).json.id, "succeeded");
    await submit();
    await submit();
    const held = await submit();
    expect(held.json.eta).to.deep.include({ basis: "rate", rate });
    expect(held.json.eta.seconds).to.be.within(30, 60.5);
    expect(Number(held.headers["x-queue-eta"])).to.equal(held.json.eta.seconds);
    expect(Number(held.headers["retry-after"])).to.be.within(30, 67);
    expect((await submit("?dryRun=true")).json.eta.seconds).to.be.within(30, 60.5);
    expect((await read("/v1/queues/paced")).eta.seconds).to.be.within(30, 60.5);
    const page = await server.send(`/v1/requests/${held.json.id}/status`, { headers: { Accept: "text/html" } });
    expect(page.text).to.include("5 a minute allowed, 2 before this one");
  });
});
