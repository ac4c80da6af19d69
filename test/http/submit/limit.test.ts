import { expect } from "chai";
import { closedGate, type Gate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const ASYNC = { Prefer: "respond-async" };
const PATH = "/v1/queues/limited";
const keys = testKeys({ ann: ["submit"], bob: ["submit"], root: ["admin"] });
type Name = "ann" | "bob" | "root";

describe("limits of a caller over HTTP (API: Limits of a caller)", () => {
  let server: TestServer;
  let gate: Gate;
  beforeEach(async () => {
    server = await startServer({ ...keys.env, REPLICATE: "true" });
    gate = closedGate();
  });
  afterEach(async () => {
    gate.open("done");
    await server.stop();
  });
  const send = (name: Name, method: string, path: string, body?: unknown, headers: Record<string, string> = ASYNC) =>
    server.send(path, { method, headers: keys.as(name, headers), ...(body !== undefined && { body }) });
  const post = (name: Name, search = "", body: unknown = gate.input) =>
    send(name, "POST", `${PATH}/requests${search}`, body);
  const accepted = async (name: Name, search = "", body: unknown = gate.input) => {
    const answer = await post(name, search, body);
    expect(answer.status, answer.text).to.equal(202);
    return answer.json.id as string;
  };
  const monitor = async (id: string) => (await send("root", "GET", `/v1/requests/${id}/status`)).json;
  /** A task of a caller that runs, and as many as may wait. */
  const fill = async (name: Name) => {
    const own = closedGate();
    const running = await accepted(name, "", own.input);
    await own.entered;
    return { running, ids: [await accepted(name), await accepted(name)], open: () => own.open("done") };
  };

  it("refuses more than may wait with 429, says how it stands and when to try again; others are accepted", async () => {
    const ann = await fill("ann");
    const refused = await post("ann");
    expect(refused.status).to.equal(429);
    const { title, detail, ...problem } = refused.json;
    expect(title).to.equal("The caller has too many tasks");
    expect(detail).to.equal("At most 2 tasks of one caller may wait in this queue.");
    expect(problem).to.deep.include({
      ...{ type: "/problems/too-many-tasks", status: 429, queue: "limited" },
      ...{ limit: 2, waiting: 2, running: 1 },
    });
    expect(Number(refused.headers["retry-after"])).to.be.within(1, 300);
    expect(refused.headers["x-request-id"]).to.be.a("string");
    expect((await send("ann", "GET", `/v1/requests/${refused.headers["x-request-id"]}`)).json.type).to.equal(
      "/problems/unknown",
    );
    await fill("bob");
    expect((await monitor(ann.ids[0] ?? "")).held, "one runs at a time").to.equal(true);
    ann.open();
    await gate.entered;
    await accepted("ann");
    const { json: queue } = await send("root", "GET", PATH);
    expect(queue).to.deep.include({ limit: { waiting: 2, running: 1 }, order: "arrival" });
    const metrics = (await send("root", "GET", "/metrics")).text;
    expect(metrics).to.match(/paihao_submissions_total\{[^}]*queue="limited"[^}]*verdict="too-many"[^}]*\} 1\n/);
  });

  it("refuses a synchronous request at once, a dry run and a PUT alike, but never the same submission again", async () => {
    const ann = await fill("ann");
    const began = Date.now();
    for (const headers of [{}, { Prefer: "wait=20" }, { Accept: "text/event-stream" }]) {
      const answer = await send("ann", "POST", `${PATH}/requests`, gate.input, headers);
      expect([answer.status, answer.json.type]).to.deep.equal([429, "/problems/too-many-tasks"]);
    }
    expect(Date.now() - began).to.be.below(15_000);
    expect((await post("ann", "?dryRun=true")).status).to.equal(429);
    expect((await post("bob", "?dryRun=true")).status).to.equal(200);
    expect((await send("ann", "PUT", `${PATH}/requests/put-1`, gate.input)).status).to.equal(429);
    const again = await send("ann", "PUT", `${PATH}/requests/${ann.ids[0]}`, gate.input);
    expect([again.status, again.headers["idempotent-replayed"]]).to.deep.equal([202, "true"]);
    const replaced = await send("ann", "PUT", `${PATH}/requests/${ann.ids[1]}`, { gate: gate.name, n: 2 });
    expect(replaced.status, "another input for a task that waits").to.equal(200);
    expect((await post("ann", "?delay=3600")).status, "a scheduled task waits too").to.equal(429);
  });

  it("refuses each line of a batch above the limit; the rest goes on", async () => {
    await accepted("ann", "?delay=3600");
    const lines = [gate.input, { gate: 7 }, gate.input, gate.input].map((line) => `${JSON.stringify(line)}\n`);
    await send("root", "POST", `${PATH}/pause`);
    const verdicts = await server.batch("limited", lines.join(""), "", keys.as("ann"));
    expect(verdicts.map(({ line, problem }) => [line, problem?.type])).to.deep.equal([
      [0, undefined],
      [1, "/problems/too-many-tasks"],
      [2, "/problems/too-many-tasks"],
      [3, "/problems/too-many-tasks"],
    ]);
    expect(verdicts[1].problem).to.include({ status: 429, limit: 2, waiting: 2, running: 0 });
    await accepted("bob");
  });

  it("counts what is submitted again and what is run again, but refuses only the former", async () => {
    const own = closedGate();
    const dead = await accepted("ann", "", own.input);
    await own.entered;
    own.break(new Error("boom"));
    await server.until(dead, "failed", keys.as("root"));
    const ann = await fill("ann");
    const again = await send("ann", "POST", `/v1/requests/${ann.running}/again`);
    expect([again.status, again.json.type]).to.deep.equal([429, "/problems/too-many-tasks"]);
    expect((await send("root", "POST", `/v1/requests/${dead}/retry`)).status).to.be.within(200, 202);
    expect((await post("ann")).json).to.include({ limit: 2, waiting: 3 });
    await send("ann", "DELETE", `/v1/requests/${dead}`);
    await send("ann", "DELETE", `/v1/requests/${ann.ids[0]}`);
    await accepted("ann");
  });

  it("holds for allocated ids and predictions, when their task comes", async () => {
    await fill("ann");
    const { id } = (await send("ann", "GET", "/api/v1/task?queue=limited")).json;
    for (const method of ["POST", "PUT"]) {
      const answer = await send("ann", method, `/api/v1/task/${id}`, gate.input);
      expect([answer.status, answer.json.type], method).to.deep.equal([429, "/problems/too-many-tasks"]);
    }
    const predict = (name: Name) =>
      send(name, "POST", "/replicate/v1/predictions", { version: "limited", input: gate.input });
    const refused = await predict("ann");
    expect([refused.status, refused.json.type]).to.deep.equal([429, "/problems/too-many-tasks"]);
    expect((await predict("bob")).status).to.equal(201);
  });

  it("counts by another key than the caller, and none for null; without a key nothing is stored", async () => {
    await send("root", "POST", "/v1/queues/fair-limited/pause");
    const submit = (name: Name, tenant: string | null, id?: string) =>
      send(name, id === undefined ? "POST" : "PUT", `/v1/queues/fair-limited/requests${id ? `/${id}` : ""}`, {
        tenant,
      });
    const statuses = async (name: Name, tenant: string | null, times: number) => {
      const all: number[] = [];
      for (let n = 0; n < times; n += 1) all.push((await submit(name, tenant)).status);
      return all;
    };
    expect(await statuses("ann", "t1", 1)).to.deep.equal([202]);
    expect(await statuses("bob", "t1", 2), "of the same tenant").to.deep.equal([202, 429]);
    expect(await statuses("ann", null, 4)).to.deep.equal([202, 202, 202, 202]);
    expect(await statuses("ann", "broken", 1)).to.deep.equal([400]);
    expect((await submit("ann", "t2", "put-1")).status).to.equal(202);
    const moved = await submit("ann", "t1", "put-1");
    expect([moved.status, moved.json.type], "to a tenant with too many").to.deep.equal([
      429,
      "/problems/too-many-tasks",
    ]);
    expect(moved.json).to.include({ limit: 2, waiting: 2, running: 0 });
    expect((await send("ann", "GET", "/v1/requests/put-1/input")).json).to.deep.equal({ tenant: "t2" });
    expect((await submit("ann", "t3", "put-1")).status).to.equal(200);
    expect(await statuses("ann", "t2", 3)).to.deep.equal([202, 202, 429]);
    expect(await statuses("bob", "t3", 2)).to.deep.equal([202, 429]);
    const { json: queue } = await send("root", "GET", "/v1/queues/fair-limited");
    expect(queue).to.deep.include({ limit: { waiting: 2, running: null }, order: "fair" });
    expect((await send("root", "GET", "/v1/queues/gated")).json.limit).to.equal(null);
  });
});

describe("limits of a caller without API keys", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer({ TRUST_PROXY: "1" });
  });
  afterEach(() => server.stop());

  it("are those of its address, and of the /64 of an IPv6 one; they outlive a restart", async () => {
    await server.send(`${PATH}/pause`, { method: "POST" });
    const from = async (address: string, to = server) => {
      const headers = { ...ASYNC, "X-Forwarded-For": address };
      return (await to.send(`${PATH}/requests`, { method: "POST", headers, body: {} })).status;
    };
    expect([await from("192.0.2.1"), await from("192.0.2.1"), await from("192.0.2.1")]).to.deep.equal([202, 202, 429]);
    expect(await from("192.0.2.2")).to.equal(202);
    expect(await from("2001:db8:1:2::1")).to.equal(202);
    expect(await from("2001:db8:1:2:ffff::9")).to.equal(202);
    expect(await from("2001:db8:1:2:3::")).to.equal(429);
    expect(await from("2001:db8:1:3::1")).to.equal(202);
    await server.stop({ keep: true });
    server = await startServer({ TRUST_PROXY: "1", KEY_PREFIX: server.prefix });
    expect([await from("192.0.2.1"), await from("192.0.2.2"), await from("192.0.2.2")]).to.deep.equal([429, 202, 429]);
  });
});
