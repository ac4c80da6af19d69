import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const SERIES = [
  ...["waiting", "running", "scheduled", "dead", "accepted", "started", "finished", "failed"],
  ...["serviceP50", "serviceP95", "waitP50", "waitP95"],
];

describe("the histories of queues over HTTP", () => {
  const keys = testKeys({ ann: ["submit"], watch: ["read"], root: ["admin"] });
  let server: TestServer;
  before(async () => {
    server = await startServer(keys.env);
  });
  after(() => server.stop());

  const get = (at: string) => server.send(at, { headers: keys.as("ann") });

  it("have a value for every interval of the last hour", async () => {
    const { status, headers, json } = await get("/v1/queues/default/history");
    expect([status, headers["cache-control"]]).to.deep.equal([200, "no-store"]);
    expect(json).to.include({ name: "default", own: false, step: 10 });
    expect(json.at).to.have.length(360);
    expect(json.at.at(-1)).to.be.within(Date.now() / 1000 - 30, Date.now() / 1000);
    for (const name of SERIES) expect(json[name], name).to.have.length(360);
  });

  it("are available for all queues at once, including the server's own", async () => {
    const { json } = await get("/v1/history?minutes=10&step=120");
    expect([json.step, json.at.length]).to.deep.equal([120, 5]);
    const names = (json.queues as { name: string; own: boolean }[]).map(({ name, own }) => [name, own]);
    expect(names).to.deep.include.members([
      ["default", false],
      ["paihao.undo", true],
    ]);
    for (const queue of json.queues) expect(queue).to.have.all.keys("name", "own", ...SERIES);
    const later = await get(`/v1/history?minutes=10&step=120&after=${json.at[2]}`);
    expect(later.json.at).to.include.members(json.at.slice(3));
    expect(later.json.at).not.to.include(json.at[2]);
  });

  it("are refused with wrong parameters, and for unknown queues", async () => {
    for (const wrong of [
      "minutes=0",
      "minutes=10081",
      "step=15",
      "step=0",
      "step=90000",
      "after=x",
      "step=10&step=20",
    ]) {
      const answer = await get(`/v1/history?${wrong}`);
      expect([answer.status, answer.json.parameter], wrong).to.deep.equal([400, wrong.split("=")[0]]);
    }
    for (const [minutes, step] of [
      [61, 60],
      [1441, 300],
    ]) {
      const answer = await get(`/v1/history?minutes=${minutes}&step=${step}`);
      expect([answer.status, answer.json.parameter]).to.deep.equal([400, "step"]);
    }
    const week = (await get("/v1/queues/default/history?minutes=10080")).json;
    expect([week.step, week.at.length]).to.deep.equal([3600, 168]);
    expect((await get("/v1/queues/nowhere/history")).status).to.equal(404);
  });
});

describe("what a caller may do", () => {
  const keys = testKeys({ ann: ["submit"], root: ["admin"] });

  it("is reported for a key, and includes everything for admin", async () => {
    const server = await startServer(keys.env);
    const of = async (name: "ann" | "root") => (await server.send("/v1/access", { headers: keys.as(name) })).json;
    expect(await of("ann")).to.deep.equal({ caller: "ann", keys: true, scopes: ["submit"] });
    expect(await of("root")).to.deep.equal({
      caller: "root",
      keys: true,
      scopes: ["submit", "read", "admin", "work"],
    });
    expect((await server.send("/v1/access")).status).to.equal(401);
    await server.stop();
  });

  it("is everything on a server without keys", async () => {
    const server = await startServer();
    const { json } = await server.send("/v1/access");
    expect(json).to.deep.equal({ caller: null, keys: false, scopes: ["submit", "read", "admin", "work"] });
    await server.stop();
  });
});
