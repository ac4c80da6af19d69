import { expect } from "chai";
import { Keys } from "../../../src/store/keys.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { verdictsOf } from "../../helpers/http/batch.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

const NDJSON = { "Content-Type": "application/x-ndjson" };

describe("a group and its callers", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"], eye: ["read"], boss: ["admin"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({
      ...keys.env,
      URL_SIGNING_KEY: "a secret of at least 16 characters",
      RESULT_TTL: "1s",
    });
  });
  after(() => server.stop());
  type Name = Parameters<typeof keys.as>[0];
  const batch = (name: Name, search: string, id?: string) =>
    server.send(`/v1/queues/default/batches${search}${id === undefined ? "" : "&envelope=true"}`, {
      method: "POST",
      headers: keys.as(name, NDJSON),
      body: id === undefined ? "1\n" : JSON.stringify({ id, input: 1 }),
    });
  const get = (name: Name, path: string) => server.send(path, { headers: keys.as(name) });

  it("is seen by its caller and readers, and ended by its caller and operators", async () => {
    await batch("ann", "?group=anns&open=true");
    for (const path of ["/v1/groups/anns", "/v1/groups/anns/results"]) {
      expect((await get("ann", path)).status).to.be.oneOf([200, 202]);
      expect((await get("eye", path)).status).to.be.oneOf([200, 202]);
      expect((await get("bob", path)).status).to.equal(404);
      expect((await server.send(path)).status).to.equal(401);
    }
    const end = (name: Name) => server.send("/v1/groups/anns", { method: "DELETE", headers: keys.as(name) });
    expect([(await end("bob")).status, (await end("eye")).status]).to.deep.equal([404, 403]);
    const taken = await batch("bob", "?group=anns");
    expect([taken.status, Object.keys(taken.json)]).to.deep.equal([409, ["type", "title", "status"]]);
    expect(taken.text).not.to.match(/anns|group/);
    expect((await end("boss")).status).to.equal(202);
    expect(server.log.some((line) => line.audit === "cancel-group")).to.equal(true);
  });

  it("can be read by whoever has its signed link, with its results", async () => {
    const location = String((await batch("ann", "?group=shared")).headers.location);
    const { search } = new URL(location, server.url);
    expect(search).to.match(/^\?expires=\d{10}&signature=/);
    await eventually(async () => (await server.send(location)).json.state === "done");
    const { json } = await server.send(location);
    const results = json.links.find(({ rel }: { rel: string }) => rel === "results").href;
    expect(results).to.include(search);
    expect((await server.send(results)).text).to.include('"line":0');
    expect((await server.send(`/v1/groups/anns${search}`)).status).to.equal(401);
    expect((await server.send(location, { method: "DELETE" })).status).to.equal(401);
  });

  it("shows nothing of another caller's task that has got the id of one of its members", async () => {
    const location = String((await batch("ann", "?group=old&open=true", "again")).headers.location);
    await eventually(async () => (await server.send(location)).json.succeeded === 1);
    const redis = await connectOnce(storeUrl());
    const { tags } = new Keys(server.prefix, 1);
    await redis.del(storedKey(String(tags[0]), "task", "again")).finally(() => redis.disconnect());
    const headers = keys.as("bob", { "X-Request-Id": "again" });
    expect(
      (await server.post("default", '"of bob"', { ...headers, "Content-Type": "application/json" })).status,
    ).to.equal(200);
    const { search } = new URL(location, server.url);
    for (const read of [
      () => get("ann", "/v1/groups/old/results"),
      () => server.send(`/v1/groups/old/results${search}`),
    ]) {
      const { text } = await read();
      expect(text).not.to.include("bob");
      expect(verdictsOf(text)[0]).to.deep.include({ id: "again", state: "succeeded", status: 410 });
    }
  });

  it("expires with the last of its results", async () => {
    await batch("ann", "?group=short");
    const { json } = (await eventually(async () => {
      const answer = await get("ann", "/v1/groups/short");
      return answer.status === 410 && answer;
    })) as Awaited<ReturnType<typeof get>>;
    expect(json).to.include({ type: "/problems/expired", id: "short", state: "done" });
    expect((await batch("ann", "?group=short", "another")).status).to.equal(409);
  });
});
