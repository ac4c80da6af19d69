import path from "node:path";
import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/actions");

const keys = testKeys({ shop: ["submit"], reader: ["read"], boss: ["admin"], hand: ["work"] });
const CALLERS = ["shop", "reader", "boss", "hand"] as const;

/** The request of each action; what is submitted is only tried. */
const REQUESTS: Readonly<Record<string, readonly [method: string, path: string, body?: unknown]>> = {
  submit: ["POST", "/requests?dryRun=true", {}],
  list: ["GET", "/waiting"],
  pause: ["POST", "/pause"],
  resume: ["POST", "/resume"],
  cancel: ["POST", "/bulk", { action: "cancel", list: "waiting" }],
  retry: ["POST", "/dead/retry"],
  delete: ["DELETE", "/dead"],
};

describe("the actions that a queue's document offers", () => {
  /** The second has none of these handlers, which the first says to be elsewhere. */
  let server: TestServer;
  let stranger: TestServer;
  before(async () => {
    const env = { ...keys.env, KEY_PREFIX: uniquePrefix(), ROLE: "api" };
    server = await startServer({ ...env, HANDLERS });
    await server.send("/v1/queues/plain/requests?delay=3600", {
      method: "POST",
      headers: keys.as("boss", { Prefer: "respond-async" }),
      body: {},
    });
    stranger = await startServer({ ...env, HANDLERS: path.join(HANDLERS, "../shaped") });
    const isKnown = async () => (await stranger.send("/v1/queues/plain", { headers: keys.as("boss") })).status === 200;
    await eventually(isKnown);
  });
  after(async () => {
    await stranger?.stop({ keep: true });
    await server?.stop();
  });

  const KINDS: Readonly<Record<string, { queue: string; paused?: true; elsewhere?: true }>> = {
    "a plain queue": { queue: "plain" },
    "a paused queue": { queue: "plain", paused: true },
    "a gateway": { queue: "api" },
    "a queue of the server's own": { queue: "paihao.undo" },
    "a queue whose handler is elsewhere": { queue: "plain", elsewhere: true },
  };

  for (const [kind, { queue, paused = false, elsewhere }] of Object.entries(KINDS)) {
    for (const caller of CALLERS) {
      it(`are those that the server does not refuse: ${kind}, ${caller}`, async () => {
        const to = elsewhere ? stranger : server;
        const at = `/v1/queues/${queue}`;
        const boss = async (method: string, end: string) =>
          (await server.send(at + end, { method, headers: keys.as("boss") })).json;
        for (const [action, [method, end, body]] of Object.entries(REQUESTS)) {
          await boss("POST", paused ? "/pause" : "/resume");
          const { actions } = (await to.send(at, { headers: keys.as(caller) })).json;
          const { items } = (await to.send("/v1/queues", { headers: keys.as(caller) })).json;
          const listed = items.find(({ name }: { name: string }) => name === queue);
          expect(listed.actions, "in the list of queues").to.deep.equal(actions);
          const { status } = await to.send(at + end, { method, headers: keys.as(caller), body });
          const isPaused: boolean = (await boss("GET", "")).paused;
          const what = `${action}, offered: ${actions.join(" ") || "nothing"}`;
          if (actions.includes(action)) {
            expect(status, what).to.equal(200);
            if (action === "pause" || action === "resume") expect(isPaused, what).to.equal(action === "pause");
          } else {
            expect(isPaused, what).to.equal(paused);
            const isIdle = caller === "boss" && action === (paused ? "pause" : "resume");
            if (!isIdle) expect([403, 404], what).to.include(status);
          }
        }
      });
    }
  }

  it("include every action, each for somebody", async () => {
    const of = async (name: (typeof CALLERS)[number], queue = "plain") => {
      const { actions } = (await server.send(`/v1/queues/${queue}`, { headers: keys.as(name) })).json;
      return actions.join(" ");
    };
    await server.send("/v1/queues/plain/resume", { method: "POST", headers: keys.as("boss") });
    expect(await of("boss")).to.equal("submit list pause adjust cancel retry delete");
    expect(await of("boss", "api")).to.equal("list pause adjust cancel retry delete");
    expect(await of("shop")).to.equal("submit");
    expect(await of("shop", "api")).to.equal("");
    expect(await of("reader")).to.equal("list");
    expect(await of("hand")).to.equal("");
  });

  it("include everything that applies if there are no keys", async () => {
    const open = await startServer({ ROLE: "api", HANDLERS });
    const { actions } = (await open.send("/v1/queues/plain")).json;
    const id = await open.enqueue("plain", {});
    const task = await open.send(`/v1/requests/${id}/status`);
    await open.stop();
    expect(actions).to.deep.equal(["submit", "list", "pause", "adjust", "cancel", "retry", "delete"]);
    expect(task.json.actions).to.deep.equal(["cancel", "replace", "move", "place", "again"]);
  });
});
