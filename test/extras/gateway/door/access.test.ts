import { expect } from "chai";
import { StartError } from "../../../../src/errors.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { Api, openDoor, type TestDoor } from "./door.ts";
import { Wire } from "./relaying.ts";

const keys = testKeys({ user: ["submit"], admin: ["admin"], reader: ["read"] });
const bare = (authorization: string) => authorization.replace("Bearer ", "");
const SECRET = "sk-very-secret";

describe("who may pass a door", () => {
  let api: Api;
  let door: TestDoor | undefined;
  beforeEach(async () => {
    api = await Api.start();
  });
  afterEach(async () => {
    await door?.stop();
    door = undefined;
    await api.stop();
  });

  it("needs a key that may submit, also for what does not wait, and the API does not get it", async () => {
    door = await openDoor(api.url, { direct: ["GET /free"] }, keys.env, keys.as("admin"));
    const { Authorization: user = "" } = keys.as("user");
    for (const path of ["/any", "/free"]) {
      expect((await door.send(path, { headers: { Authorization: "" } })).status).to.equal(401);
      const wrong = await door.send(path, { headers: { Authorization: "Bearer no" } });
      expect([wrong.status, wrong.json.type]).to.deep.equal([401, "/problems/unauthenticated"]);
      const reader = await door.send(path, { headers: keys.as("reader") });
      expect([reader.status, reader.json.type]).to.deep.equal([403, "/problems/forbidden"]);
    }
    expect(api.asked.length).to.equal(0);
    expect((await door.send("/any", { headers: { Authorization: user } })).status).to.equal(200);
    expect((await api.next()).headers).to.not.have.any.keys("authorization", "x-api-key");
    const headers = { Authorization: "Bearer theirs", "X-Api-Key": bare(user) };
    expect((await door.send("/any", { headers })).status).to.equal(200);
    const { headers: sent } = await api.next();
    expect([sent.authorization, sent["x-api-key"]]).to.deep.equal(["Bearer theirs", undefined]);
    await door.expectFree();
  });

  it("is told in OpenAI's form why not, if that is what its clients speak", async () => {
    door = await openDoor(api.url, { speaks: "openai" }, keys.env, keys.as("admin"));
    const { status, json } = await door.send("/v1/models", { headers: { Authorization: "Bearer no" } });
    expect([status, json.error.code, json.error.type]).to.deep.equal([401, "unauthenticated", "invalid_request_error"]);
    const forbidden = await door.send("/v1/models", { headers: keys.as("reader") });
    expect([forbidden.status, forbidden.json.error.code]).to.deep.equal([403, "forbidden"]);
  });

  it("does not learn the key of the API, which is sent in place of the caller's own", async () => {
    for (const key of [SECRET, { header: "X-Token", value: SECRET }]) {
      door = await openDoor(api.url, { key, direct: ["/free"] });
      const { headers } = await door.send("/any", { headers: { Authorization: "Bearer x", "X-Token": "y" } });
      await door.send("/free");
      const name = typeof key === "string" ? "authorization" : "x-token";
      const value = typeof key === "string" ? `Bearer ${SECRET}` : SECRET;
      for (let n = 0; n < 2; n += 1) expect((await api.next()).headers[name]).to.equal(value);
      await api.stop();
      const id = String(headers["x-request-id"]);
      const failing = await openDoor(api.url, { key, timeout: "100ms" });
      const caller = failing.call("/any");
      await failing.until(0, 1);
      const shown = [
        JSON.stringify(headers),
        await Promise.all(
          [`/v1/requests/${id}/status`, "/v1/queues", "/v1/events", "/openapi.json"].map(
            async (path) => (await door?.server.send(path, { contract: false }))?.text,
          ),
        ),
        JSON.stringify([...door.server.log, ...failing.server.log]),
      ].join();
      expect(shown).to.not.include(SECRET);
      caller.hangUp();
      await failing.stop();
      await door.stop();
      door = undefined;
      api = await Api.start();
    }
  });

  it("must use a Host that is served, and come from no other site with what changes anything", async () => {
    door = await openDoor(api.url, {}, { CORS_ORIGINS: "https://friend.example" });
    const wrong = await door.send("/any", { headers: { Host: "evil.example" } });
    expect([wrong.status, wrong.json.type]).to.deep.equal([421, "/problems/wrong-host"]);
    const post = async (origin: string) =>
      (await door?.send("/any", { method: "POST", headers: { Origin: origin }, body: "x" })) ?? expect.fail();
    expect((await post("https://evil.example")).status).to.equal(403);
    expect((await post(`http://127.0.0.1:${door.port}`)).status).to.equal(200);
    const friend = await post("https://friend.example");
    expect([friend.status, friend.headers["access-control-allow-origin"]]).to.deep.equal([
      200,
      "https://friend.example",
    ]);
    const wire = new Wire(door.port).write(
      "GET /ws HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    expect(await wire.until("\r\n")).to.match(/^HTTP\/1\.1 403 /);
    wire.socket.destroy();
    expect(api.asked.length).to.equal(2);
    await door.expectFree();
  });

  it("does not wait for what is direct: a method, and a path without its query and without ways out", async () => {
    door = await openDoor(api.url, { direct: ["GET /v1/models", "/health/*", "POST /only"] });
    const holder = door.call("/hold");
    const held = await api.next();
    const direct = [
      "GET /v1/models",
      "GET /v1/models?q=1",
      "HEAD /v1/models",
      "GET /health/a/b",
      "PUT /health/",
      "POST /only",
      "OPTIONS /x",
    ];
    for (const line of direct) {
      const [method = "", path = ""] = line.split(" ");
      const { status, headers } = await door.send(path, { method });
      expect([status, headers["x-queue-waited"]], line).to.deep.equal([200, undefined]);
      expect((await api.next()).line).to.equal(line);
    }
    expect(await door.line()).to.deep.equal({ running: 1, waiting: 0 });
    const others = [
      "POST /v1/models",
      "GET /only",
      "GET /v1/models/x",
      "GET /health",
      "GET /health/../v1",
      "GET /health/%2e%2E/v1",
    ];
    const wires = others.map((line) => new Wire(door?.port ?? 0).write(`${line} HTTP/1.1\r\nHost: localhost\r\n\r\n`));
    await door.until(1, others.length);
    held.response.end();
    await holder.answer;
    for (const wire of wires) {
      await wire.until("ok");
      wire.socket.destroy();
    }
    await door.expectFree();
  });

  it("finds none on a port that is taken, or on an address for all without keys", async () => {
    const error = await openDoor(api.url, { listen: api.port }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(StartError);
    expect(String(error)).to.include(`listen of the gateway api is ${api.port}, but 127.0.0.1:${api.port} is taken`);
    const open = await openDoor(api.url, { listen: { port: 0, host: "0.0.0.0" } }).catch((reason: unknown) => reason);
    expect(open).to.be.instanceOf(StartError);
    expect(String(open)).to.match(/listen of the gateway api.*0\.0\.0\.0.*API_KEYS/);
    door = await openDoor(api.url, { listen: { port: 0, host: "0.0.0.0" } }, keys.env, keys.as("admin"));
    await door.expectFree();
  });
});
