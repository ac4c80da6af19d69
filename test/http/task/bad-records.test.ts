import { expect } from "chai";
import type { Redis } from "ioredis";
import { TASK_FIELDS } from "../../../src/store/fields.ts";
import { Keys } from "../../../src/store/keys.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { readEvents } from "../../helpers/http/events.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { ATTEMPTS, TASK } from "../../helpers/store/stored.ts";

/** What an older version, another program or a defect may have left in the store. */
const RESULTS: Readonly<Record<string, string>> = {
  "members of a problem that are no texts":
    '{"s":422,"t":"application/problem+json"}\n{"title":{"toString":1},"detail":{"toString":1}}',
  "a problem that is a list": '{"s":500,"t":"application/problem+json"}\n[1]',
  "a problem that is no JSON": '{"s":500,"t":"application/problem+json"}\n{',
  "no head": "nothing to read here",
  "a head that is no JSON": "{\n{}",
  "a head that is null": "null\n{}",
  "a status that is none": '{"s":"odd"}\n{}',
  "a status beyond those of HTTP": '{"s":1234}\n{}',
  "headers that are none": '{"s":200,"h":{"a":{"toString":1}}}\n{}',
  "a header that no answer can have": '{"s":200,"h":{"a b":"c\\r\\nd"}}\n{}',
  "a type that is none": '{"s":200,"t":7}\n{}',
  "a type that no answer can have": '{"s":200,"t":"text/html\\r\\nX-Evil: 1"}\n{}',
};

/** Fields of a task, each with what does not belong there. */
const FIELDS: readonly (readonly [keyof typeof TASK_FIELDS, string])[] = [
  ["created", "long ago"],
  ["ended", "99999999999999999999"],
  ["expires", "never"],
  ["run", "many"],
  ["run", "0 early many 0 w"],
  ["errorCode", "no-such-code"],
  ["progress", "x"],
];

describe("a corrupt record in the store", () => {
  let server: TestServer;
  let redis: Redis;
  before(async () => {
    server = await startServer({ ROLE: "api" });
    redis = (await connectOnce(storeUrl())) as Redis;
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });

  const post = (path: string, body: unknown) => server.send(path, { method: "POST", body });
  /** A task that has ended so, as workers over HTTP do it. */
  async function ended(how: "complete" | "fail"): Promise<string> {
    const id = await server.enqueue("default", {});
    const [{ fence }] = (await post("/v1/queues/default/leases", {})).json.items;
    await post(`/v1/leases/${id}/${how}`, how === "fail" ? { fence, giveUp: {} } : { fence, result: 1 });
    return id;
  }
  const key = (kind: "task" | "result" | "attempts", id: string) => {
    const keys = new Keys(server.prefix, 1);
    return keys.start(keys.tag(0), kind) + id;
  };

  async function isShown(id: string, state: string): Promise<void> {
    const monitor = await server.send(`/v1/requests/${id}/status`);
    expect([monitor.status, monitor.json.state]).to.deep.equal([200, state]);
    // A problem that cannot be read lacks members that problems have.
    const collected = await server.send(`/v1/requests/${id}`, { contract: false });
    expect(collected.status, "of the result").to.be.within(200, 599);
    expect(collected.text).not.to.contain("/problems/internal");
    expect(collected.headers).not.to.have.property("x-evil");
    const events = await readEvents(`${server.url}/v1/requests/${id}/events`);
    expect((await events.until("done")).at(-1)?.json.state).to.equal(state);
    await events.closed;
  }

  for (const [what, stored] of Object.entries(RESULTS)) {
    it(`is shown as far as it can be read: ${what}`, async () => {
      for (const [how, state] of [
        ["complete", "succeeded"],
        ["fail", "failed"],
      ] as const) {
        const id = await ended(how);
        await redis.hset(key("task", id), TASK.result, stored);
        await isShown(id, state);
        await redis.hdel(key("task", id), TASK.result);
        await redis.set(key("result", id), stored);
        await isShown(id, state);
      }
    });
  }

  it("is shown as far as it can be read: fields of a task", async () => {
    for (const [field, value] of FIELDS) {
      const id = await ended("fail");
      await redis.hset(key("task", id), TASK_FIELDS[field][0], value);
      await isShown(id, "failed");
    }
    for (const errors of ["{", '{"0":1}']) {
      const id = await ended("fail");
      await redis.hset(key("attempts", id), ATTEMPTS.errors, errors);
      await isShown(id, "failed");
    }
  });

  it("does not keep a worker from other tasks: an input that is not JSON is delivered as bytes", async () => {
    const ids = [await server.enqueue("default", {}), await server.enqueue("default", {})];
    await redis.hset(key("task", ids[0] ?? ""), TASK.input, "{");
    const { items } = (await post("/v1/queues/default/leases", { count: 2 })).json;
    expect(items.map((item: { body?: string }) => item.body)).to.deep.equal(["ew==", undefined]);
  });
});
