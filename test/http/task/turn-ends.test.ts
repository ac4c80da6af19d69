import { expect } from "chai";
import { defineTurns } from "../../../src/handler/turns.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { Resource } from "../../world/turns/resource.ts";

const ASYNC = { Prefer: "respond-async" };
const keys = testKeys({ ann: ["submit"], bob: ["submit"], reader: ["read"], admin: ["admin"] });
const handlers = new Map([["gpu", defineTurns({ queue: "gpu" })]]);

describe("the end of a turn", () => {
  /** Two processes on the same line. */
  let servers: readonly [TestServer, TestServer];
  before(async () => {
    const env = { ...keys.env, URL_SIGNING_KEY: "a secret of at least 16 characters" };
    const first = await startServer(env, { handlers });
    servers = [first, await startServer({ ...env, KEY_PREFIX: first.prefix }, { handlers })];
  });
  after(async () => {
    await servers[1].stop({ keep: true });
    await servers[0].stop();
  });

  const submit = async (of = servers[0]) => {
    const headers = keys.as("ann", ASYNC);
    const answer = await of.send("/v1/queues/gpu/requests", { method: "POST", headers });
    expect(answer.status, answer.text).to.equal(202);
    return String(answer.headers["x-request-id"]);
  };
  const look = (id: string) => servers[0].send(`/v1/requests/${id}/status`, { headers: keys.as("ann") });
  const state = async (id: string) => (await look(id)).json.state;
  const post = (path: string, headers = {}, body?: unknown) =>
    servers[0].send(path, { method: "POST", headers, ...(body !== undefined && { body }) });
  const done = (id: string, body?: unknown) => post(`/v1/requests/${id}/done`, keys.as("ann"), body);
  const hrefOf = (answer: Answer, rel: string) =>
    String(answer.json.links.find((link: { rel: string }) => link.rel === rel)?.href);

  it("is for its caller and for operators to say, and for whoever has its signed link", async () => {
    const ids = [await submit(), await submit(), await submit()] as const;
    const shown = await look(ids[0]);
    const [read, end] = [new URL(hrefOf(shown, "self"), servers[0].url).search, hrefOf(shown, "done")];
    expect([read, end]).to.satisfy((links: string[]) => links.every((link) => link.includes("signature=")));
    const path = `/v1/requests/${ids[0]}/done`;
    const { fence } = shown.json.turn;
    const refused = [
      await post(path, keys.as("bob")),
      await post(path, keys.as("reader")),
      await post(path),
      await post(path + read),
      await post(`${path}${read}&turn=${fence}`),
      await post(end.replace(`turn=${fence}`, `turn=${fence + 1}`)),
      await post(end.replace(ids[0], ids[1])),
    ];
    expect(refused.map(({ status }) => status)).to.deep.equal([404, 403, 401, 401, 401, 409, 401]);
    expect([await state(ids[0]), await state(ids[1])]).to.deep.equal(["running", "waiting"]);
    expect((await post(end)).json).to.include({ state: "succeeded" });
    expect((await post(end)).status, "again").to.equal(200);
    expect([await state(ids[1]), await state(ids[2])], "one more").to.deep.equal(["running", "waiting"]);
    expect((await post(`/v1/requests/${ids[1]}/done`, keys.as("admin"))).status).to.equal(200);
    expect((await done(ids[2])).status).to.equal(200);
  });

  it("is one, however often and from where it is said at once; the next one is called once", async () => {
    const [holder, next, last] = [await submit(), await submit(), await submit()];
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        (servers[n % 2] as TestServer).send(`/v1/requests/${holder}/done`, {
          ...{ method: "POST", headers: keys.as("ann"), body: { n: n % 4 === 0 ? 1 : 2 } },
        }),
      ),
    );
    // Whose body was stored is told the same each time; those with another one are refused.
    const statuses = new Set([0, 1].map((kind) => answers[kind]?.status));
    expect(statuses).to.deep.equal(new Set([200, 409]));
    expect([await state(next), await state(last)]).to.deep.equal(["running", "waiting"]);
    for (const id of [next, last]) expect((await done(id)).status).to.equal(200);
  });

  it("is what only one of two callers waits for who come in the same instant", async () => {
    for (let round = 0; round < 20; round += 1) {
      const ids = await Promise.all(servers.map(submit));
      const states = await Promise.all(ids.map(state));
      expect([...states].sort()).to.deep.equal(["running", "waiting"]);
      const first = ids[states.indexOf("running")] ?? "";
      const other = ids[states.indexOf("waiting")] ?? "";
      expect((await done(first)).status).to.equal(200);
      expect((await done(other)).status).to.equal(200);
    }
  });

  it("is told to a holder that did not look for too long, and a resource refuses their fence", async () => {
    const [holder, next] = [await submit(), await submit()];
    const resource = new Resource();
    const { fence } = (await look(holder)).json.turn;
    expect(resource.use("holder", fence)).to.equal(true);
    const redis = await connectOnce(storeUrl());
    // As if the last look had been long ago.
    await redis.zadd(storedKey(`{${servers[0].prefix}:0}`, "deadlines", "gpu"), "XX", 1, holder);
    redis.disconnect();
    await servers[0].until(next, "running", keys.as("ann"));
    expect(resource.use("next", (await look(next)).json.turn.fence)).to.equal(true);
    expect((await look(holder)).json).to.include({ state: "canceled" });
    const late = await done(holder, { late: true });
    expect(late.json).to.include({ type: "/problems/not-running", status: 409, state: "canceled" });
    expect(resource.use("holder", fence)).to.equal(false);
    expect(await state(next), "whose turn it is").to.equal("running");
    expect((await done(next)).status).to.equal(200);
  });
});
