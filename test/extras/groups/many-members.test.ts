import { expect } from "chai";
import { BUSY_MS } from "../../helpers/busy.ts";
import { verdictsOf } from "../../helpers/http/batch.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const MEMBERS = 10_000;

describe("a group of 10,000 tasks", function () {
  this.timeout(120_000 + BUSY_MS);
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAX_WAITING: String(MEMBERS), PARTITIONS: "4" });
  });
  after(() => server.stop());

  const batch = (search: string) =>
    server.send(`/v1/queues/default/batches${search}`, {
      method: "POST",
      headers: { "Content-Type": "application/x-ndjson" },
      body: Array.from({ length: MEMBERS }, (_, n) => n).join("\n"),
    });

  it("has all results, each once, while its tasks run", async () => {
    const answer = await batch("?group=true");
    const path = String(answer.headers.location);
    const ids = verdictsOf(answer.text).map(({ id }) => id);
    const lines = verdictsOf((await server.send(`${path}/results?follow=true`)).text);
    expect(lines.sort((one, other) => one.line - other.line).map(({ id }) => id)).to.deep.equal(ids);
    expect(lines.every(({ line, data }) => data.input === line)).to.equal(true);
    expect((await server.send(path)).json).to.include({ state: "done", total: MEMBERS, succeeded: MEMBERS });
  });

  it("is canceled by one request", async () => {
    const path = String((await batch("?group=true&delay=3600")).headers.location);
    expect((await server.send(path)).json).to.include({ total: MEMBERS, scheduled: MEMBERS });
    const { status, json } = await server.send(path, { method: "DELETE" });
    expect(status).to.equal(202);
    expect(json).to.include({ state: "pending", cancelRequested: true, total: MEMBERS });
    await eventually(async () => (await server.send(path)).json.state === "canceled");
    expect((await server.send(path)).json).to.include({ canceled: MEMBERS });
  });
});
