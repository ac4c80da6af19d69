import { expect } from "chai";
import type { DeploymentEvent } from "../../../src/wire/operations.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { readEvents } from "../../helpers/http/events.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { onCluster, storeTarget, storeUrlAt } from "../../helpers/store/run-store.ts";
import { startTcpProxy } from "../../helpers/tcp-proxy.ts";
import { eventually } from "../../shared/eventually.ts";

describe("what happened, over HTTP", () => {
  const keys = testKeys({ ann: ["admin"], viewer: ["read"], user: ["submit"] });
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer({ ...keys.env });
  });
  afterEach(() => server.stop());
  const send = (path: string, headers = keys.as("viewer")) => server.send(path, { headers });
  const post = (path: string) => server.send(path, { method: "POST", headers: keys.as("ann") });
  const kinds = async () => {
    const { items } = (await send("/v1/events")).json as { items: DeploymentEvent[] };
    return items.map(({ kind }) => kind);
  };

  it("has pages, newest first, for those who may read", async () => {
    await eventually(async () => (await kinds()).length === 3);
    expect(new Set(await kinds())).to.deep.equal(new Set(["server-started", "worker-started", "deployed"]));
    await post("/v1/queues/default/pause");
    await post("/v1/queues/default/resume");
    const first = (await send("/v1/events?limit=2")).json;
    expect(first.items).to.have.length(2);
    expect(first.items[0]).to.include({ kind: "queue-resumed", queue: "default", by: "ann" });
    const second = (await send(`/v1/events?limit=3&cursor=${first.next}`)).json;
    expect(second.items).to.have.length(3);
    expect(second.next).to.equal(null);
    for (const search of ["cursor=x", "limit=0", "lastEventId=x"]) {
      const headers = keys.as("viewer", search.startsWith("last") ? { Accept: "text/event-stream" } : {});
      expect((await send(`/v1/events?${search}`, headers)).json.type, search).to.equal("/problems/invalid-parameter");
    }
    expect((await send("/v1/events", keys.as("user"))).status).to.equal(403);
  });

  it("is a stream: the latest, then each as it happens, and resumes behind the last that was received", async () => {
    await eventually(async () => (await kinds()).length === 3);
    const stream = await readEvents(`${server.url}/v1/events`, keys.as("viewer"));
    const seen = [await stream.next(), await stream.next(), await stream.next()];
    expect(new Set(seen.map(({ json }) => json.kind))).to.deep.equal(
      new Set(["server-started", "worker-started", "deployed"]),
    );
    await post("/v1/queues/default/pause");
    const paused = await stream.next();
    expect(paused.json).to.include({ kind: "queue-paused", by: "ann" });
    stream.close();
    await post("/v1/queues/default/resume");
    const again = await readEvents(`${server.url}/v1/events`, keys.as("viewer", { "Last-Event-ID": paused.id ?? "" }));
    expect((await again.next()).json).to.include({ kind: "queue-resumed" });
    again.close();
  });

  it("tells that a server stops, which another one shows", async () => {
    const other = await startServer({ ...keys.env, KEY_PREFIX: server.prefix });
    await server.stop({ keep: true });
    server = other;
    const told = await kinds();
    expect(told).to.include.members(["server-stopping", "worker-stopped"]);
    expect(told.filter((kind) => kind === "server-started")).to.have.length(2);
  });

  it("tells that the store was away, once it is back", async function () {
    // The proxy stands before one server.
    if (onCluster()) return this.skip();
    const proxy = await startTcpProxy(storeTarget());
    const env = { ...keys.env, KEY_PREFIX: server.prefix, REDIS_URL: storeUrlAt(proxy.port) };
    const behind = await startServer(env);
    try {
      proxy.cut();
      await eventually(async () => (await kinds()).includes("store-away"));
    } finally {
      await behind.stop({ keep: true });
      await proxy.stop();
    }
  });
});
