import { expect } from "chai";
import { partsOf } from "../../src/extras/extras.ts";
import type { OpenApiDocument } from "../../src/http/openapi/document.ts";
import { libraryText } from "../../src/store/library/library.ts";
import { closedGate } from "../helpers/gates.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";

/** What only extras have: no path, parameter, schema or tag of the core may name it. */
const FOREIGN = /mcp|predict|replicate|hook|undo|allocat|group|gateway|\/pages|embed|dashboard|docs/i;

describe("a server without any extra", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ REPLICATE: "true" }, { extensions: [] });
  });
  after(() => server.stop());

  it("runs a task while its caller waits", async () => {
    const answer = await server.post("default", { n: 1 });
    expect([answer.status, answer.json.input]).to.deep.equal([200, { n: 1 }]);
  });

  it("answers 404 with the index while a task waits in line, then runs it, and cancels another", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const ids = [await server.enqueue("gated", gate.input), await server.enqueue("gated", gate.input)];
    for (const [index, id] of ids.entries()) {
      const waiting = await server.send(`/v1/requests/${id}`);
      expect([waiting.status, waiting.headers["x-queue-index"]]).to.deep.equal([404, String(index)]);
    }
    const [first = "", second = ""] = ids;
    expect((await server.send(`/v1/requests/${second}`, { method: "DELETE" })).status).to.equal(200);
    gate.open("done");
    await server.until(first, "succeeded");
    expect((await server.send(`/v1/requests/${first}`)).json).to.equal("done");
    await server.until(second, "canceled");
  });

  it("keeps a task that has failed, and runs it again when asked to", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input);
    await gate.entered;
    gate.break(new Error("not yet"));
    await server.until(id, "failed");
    expect((await server.send("/v1/queues/gated/dead")).json.items.map((dead: { id: string }) => dead.id)).to.eql([id]);
    expect((await server.send(`/v1/requests/${id}/retry`, { method: "POST" })).status).to.equal(202);
  });

  it("refuses what it has nobody for", async () => {
    const search = `?webhook=${encodeURIComponent("https://hooks.example/")}`;
    const answer = await server.send(`/v1/requests${search}`, { method: "POST", body: 1 });
    expect([answer.status, answer.json.type]).to.eql([400, "/problems/invalid-parameter"]);
  });

  it("has a library in Redis that knows nothing of them", () => {
    const { text } = libraryText({ sharded: false, strictResultTtl: false, parts: partsOf([]) });
    expect(
      text.split("\n").filter((line) => /\ballocat|breaker|gateway|(?:open|cancel|watch|follow)Group/i.test(line)),
    ).to.eql([]);
  });

  it("describes itself without a trace of the extras", async () => {
    const { paths, components, tags }: OpenApiDocument = (await server.send("/openapi.json")).json;
    const parts = Object.values(components).flatMap((named) => Object.keys(named));
    const names = [...Object.keys(paths), ...parts, ...tags.map(({ name }) => name)];
    expect(names.filter((name) => FOREIGN.test(name))).to.eql([]);
    expect(names).to.include.members(["/v1/requests", "Task", "Submit"]);
  });
});
