import path from "node:path";
import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { uniquePrefix } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/actions");
const REFUSALS: readonly number[] = [400, 401, 403, 404, 405, 409, 410];

const keys = testKeys({ ann: ["submit"], bob: ["submit"], reader: ["read"], boss: ["admin"], hand: ["work"] });
/** All tasks are those of ann. */
type Caller = "ann" | "boss" | "bob" | "reader" | "bob with a link" | "a link alone";

/** Brings a new task of a queue into a state; returns its id. */
type Make = (queue: string) => Promise<string>;

describe("the actions that a task's document offers", () => {
  /** Neither runs anything; the second has none of these handlers. */
  let server: TestServer;
  let stranger: TestServer;
  before(async () => {
    const env = {
      ...keys.env,
      KEY_PREFIX: uniquePrefix(),
      ROLE: "api",
      URL_SIGNING_KEY: "more than sixteen characters",
    };
    server = await startServer({ ...env, HANDLERS });
    stranger = await startServer({ ...env, HANDLERS: path.join(HANDLERS, "../shaped") });
  });
  after(async () => {
    await stranger?.stop({ keep: true });
    await server?.stop();
  });

  const as = (name: Parameters<typeof keys.as>[0], method: string, at: string, body?: unknown) =>
    server.send(at, { method, headers: keys.as(name, { Prefer: "respond-async" }), body });
  const good = (answer: Answer): Answer => {
    if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
    return answer;
  };
  const request = (id: string) => `/v1/requests/${id}`;

  const waiting = async (queue: string, search = ""): Promise<string> => {
    const at = queue === "api" ? "/v1/gateway/api/x" : `/v1/queues/${queue}/requests${search}`;
    return good(await as("ann", "POST", at, { n: 1 })).json.id;
  };
  /** Takes a task, whose attempt then ends as this request says. */
  const ended =
    (how: string, body: object): Make =>
    async (queue) => {
      const id = await running(queue);
      good(await as("hand", "POST", `/v1/leases/${id}/${how}`, { fence: fences.get(id), ...body }));
      return id;
    };
  const fences = new Map<string, number>();
  const running: Make = async (queue) => {
    const id = await waiting(queue);
    const { items } = good(await as("hand", "POST", `/v1/queues/${queue}/leases`, { lease: 3600 })).json;
    expect(items[0].id, "what is leased").to.equal(id);
    fences.set(id, items[0].fence);
    return id;
  };
  const dead = ended("fail", {});
  const after_ =
    (make: Make, act: (id: string, queue: string) => Promise<Answer>): Make =>
    async (queue) => {
      const id = await make(queue);
      good(await act(id, queue));
      return id;
    };
  const remove = (id: string) => as("boss", "DELETE", request(id));

  const STATES = {
    waiting,
    scheduled: (queue) => waiting(queue, "?delay=3600"),
    running,
    stopping: after_(running, remove),
    retrying: ended("fail", { after: 3600 }),
    succeeded: ended("complete", { result: 1 }),
    "given up": ended("fail", { giveUp: { status: 418 } }),
    dead,
    retried: after_(dead, (id) => as("boss", "POST", `${request(id)}/retry`)),
    canceled: after_(waiting, remove),
    undone: after_(dead, (id, queue) => remove(`${id}:undo:${queue}`)),
    expired: async (queue) => {
      const id = await ended("complete", { result: 1 })(queue);
      await eventually(async () => (await as("boss", "GET", request(id))).status === 410);
      return id;
    },
  } as const satisfies Record<string, Make>;
  type State = keyof typeof STATES;

  const COMMON = Object.keys(STATES).slice(0, -2) as State[];
  const SOME = ["waiting", "dead", "succeeded"] as const;
  /** What is the same for every queue and every caller is tried with a plain one, and by those who may do most. */
  const TRIED: readonly (readonly [kind: string, callers: readonly Caller[], states: readonly State[]])[] = [
    ["a plain queue", ["ann", "boss"], COMMON],
    ["a plain queue", ["bob", "reader", "bob with a link", "a link alone"], SOME],
    ["a queue that undoes", ["ann", "boss"], [...SOME, "running", "retrying", "retried", "undone"]],
    ["a gateway", ["ann", "boss"], [...SOME, "running", "retrying"]],
    ["a queue whose handler is elsewhere", ["ann", "boss"], [...SOME, "running"]],
    ["a queue of short results", ["ann", "boss", "a link alone"], ["expired"]],
  ];
  const KINDS: Readonly<Record<string, { queue: string; elsewhere?: true }>> = {
    "a plain queue": { queue: "plain" },
    "a queue that undoes": { queue: "undoable" },
    "a gateway": { queue: "api" },
    "a queue whose handler is elsewhere": { queue: "plain", elsewhere: true },
    "a queue of short results": { queue: "brief" },
  };

  /** What a caller sends, and the query of their link. */
  const sender = (caller: Caller, query: string, to: TestServer) => (method: string, at: string, body?: unknown) => {
    const [name] = caller.split(" ");
    const headers = caller === "a link alone" ? {} : keys.as(name as "ann");
    return to.send(at + (caller.endsWith("link") || caller === "a link alone" ? query : ""), { method, headers, body });
  };

  /** The requests of the actions; the first stands for two, which exclude each other. */
  const REQUESTS = {
    "cancel delete": ["DELETE", ""],
    retry: ["POST", "/retry"],
    replace: ["PUT", "", { n: 2 }],
    move: ["PATCH", "", { priority: 7 }],
    place: ["PATCH", "", { place: "last" }],
    again: ["POST", "/again?dryRun=true", undefined],
  } as const;

  /** What of a task an action changes; undefined once it is deleted. */
  const shown = async (id: string) => {
    const { status, json } = await as("boss", "GET", `${request(id)}/status`);
    return status === 410 ? undefined : [json.state, json.cancelRequested, json.finishedAt];
  };

  /** Returns whether the task is as it was. */
  async function tryAction(id: string, kind: string, state: State, caller: Caller, names: keyof typeof REQUESTS) {
    const { queue, elsewhere } = KINDS[kind] ?? { queue: "" };
    const monitor = good(await as("ann", "GET", `${request(id)}/status`)).json;
    const [, query = ""] = monitor.links[0].href.split(/(?=\?)/);
    const send = sender(caller, query, elsewhere ? stranger : server);
    const seen = await send("GET", `${request(id)}/status`);
    const offered: string[] = seen.status < 300 ? seen.json.actions : [];
    const action = names.split(" ").find((name) => offered.includes(name));

    const before = await shown(id);
    const [method, end, body] = REQUESTS[names] as readonly [string, string, unknown?];
    const at = method === "PUT" ? `/v1/queues/${queue}/requests/${id}` : request(id) + end;
    const answer = await send(method, at, body);
    const after = await shown(id);
    // What these do is not shown, or only tried.
    const isDone = (body !== undefined || end.startsWith("/again")) && answer.status === 200;
    const isChanged = JSON.stringify(before) !== JSON.stringify(after) || isDone;
    const told = `${action ?? "nothing"} offered, ${answer.status}, ${isChanged ? "changed" : "as before"}: ${answer.text}`;
    const what = `${state}, ${caller}, ${method}${end}: ${told}`;
    if (action) expect([REFUSALS.includes(answer.status), isChanged], what).to.deep.equal([false, true]);
    else expect(isChanged, what).to.equal(false);
    // A DELETE that has nothing left to do is no refusal (RFC 9110 §9.2.2).
    const isIdle = method === "DELETE" && ["stopping", "canceled", "expired"].includes(state) && answer.status < 300;
    if (!action && !isIdle) expect(REFUSALS, what).to.include(answer.status);
    return !action;
  }

  for (const [kind, callers, states] of TRIED) {
    for (const caller of callers) {
      it(`are those that the server does not refuse: ${kind}, ${caller}`, async () => {
        for (const state of states) {
          const make = () => STATES[state](KINDS[kind]?.queue ?? "");
          let id: string | undefined;
          for (const names of Object.keys(REQUESTS) as (keyof typeof REQUESTS)[]) {
            id ??= await make();
            if (await tryAction(id, kind, state, caller, names)) continue;
            await remove(id);
            id = undefined;
          }
          if (id !== undefined) await remove(id);
        }
      });
    }
  }

  it("include every action, each for somebody", async () => {
    const offered = async (state: State, queue = "plain", name: "ann" | "boss" = "boss") => {
      const id = await STATES[state](queue);
      const { actions } = (await as(name, "GET", `${request(id)}/status`)).json;
      await remove(id);
      return actions.join(" ");
    };
    expect(await offered("waiting", "plain", "ann")).to.equal("cancel replace move again");
    expect(await offered("waiting")).to.equal("cancel move place again");
    expect(await offered("waiting", "api", "ann")).to.equal("cancel move");
    expect(await offered("retried", "undoable", "ann")).to.equal("cancel move again");
    expect(await offered("stopping")).to.equal("again");
    expect(await offered("dead")).to.equal("delete retry again");
    expect(await offered("dead", "plain", "ann")).to.equal("delete again");
    expect(await offered("dead", "undoable")).to.equal("delete retry again");
    expect(await offered("undone", "undoable")).to.equal("delete again");
    expect(await offered("given up")).to.equal("delete again");
    expect(await offered("canceled")).to.equal("again");
  });
});
