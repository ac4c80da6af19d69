import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("the server-allocated dialect over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ PARTITIONS: "2" });
  });
  after(() => server.stop());

  const allocate = async (queue?: string): Promise<string> => {
    const answer = await server.send(`/api/v1/task${queue === undefined ? "" : `?queue=${queue}`}`);
    expect(answer.status).to.equal(200);
    expect(Object.keys(answer.json)).to.deep.equal(["id"]);
    expect(answer.headers).to.include({ location: `/api/v1/task/${answer.json.id}`, "cache-control": "no-store" });
    return answer.json.id;
  };
  const ask = (id: string, method = "GET", body?: unknown) => server.send(`/api/v1/task/${id}`, { method, body });
  const until = (id: string, state: string) => server.until(id, state);

  it("shows the progress in whole percent, and never 100 before the end", async () => {
    const gate = closedGate();
    const id = await allocate("gated");
    await ask(id, "POST", gate.input);
    const task = await gate.entered;
    for (const [reported, shown] of [
      [42.9, 42],
      [100, 99],
    ] as const) {
      task.progress(reported, "on the way");
      await eventuallyAt(id, shown);
    }
    gate.open({ large: [1, 2], text: "ü" });
    await until(id, "succeeded");
    expect((await ask(id)).json.result).to.deep.equal({ large: [1, 2], text: "ü" });
  });

  /** Asks until the task has come this far. */
  const eventuallyAt = async (id: string, progress: number) => {
    for (;;) {
      const answer = await ask(id);
      if (answer.json.progress === progress) return answer;
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
    }
  };

  it("uses the queue default unless another one that takes JSON is requested", async () => {
    const id = await allocate();
    await ask(id, "POST", '"hello"');
    await until(id, "succeeded");
    expect((await ask(id)).json.result).to.include({ input: "hello", id });
    expect((await server.send("/api/v1/task?queue=nowhere")).json.type).to.equal("/problems/unknown-queue");
    const images = await server.send("/api/v1/task?queue=images");
    expect([images.status, images.json.parameter]).to.deep.equal([400, "queue"]);
    expect((await server.send("/api/v1/task?queue=a&queue=b")).json.parameter).to.equal("queue");
  });

  it("distinguishes an expired result from an unknown task", async () => {
    const id = await allocate("brief");
    await ask(id, "POST", 1);
    const expired = await untilStatus(id, 410);
    expect(expired.json).to.include({ type: "/problems/expired", id, state: "succeeded" });
    expect(expired.json.expiredAt).to.be.a("string");
  });

  /** Asks until this is the status. */
  const untilStatus = async (id: string, status: number) => {
    for (;;) {
      const answer = await ask(id);
      if (answer.status === status) return answer;
    }
  };

  it("shows a result that is not JSON as the address of its bytes, and none as null", async () => {
    const result = async (kind: string) => {
      const id = await allocate("answers");
      await ask(id, "POST", { kind });
      await until(id, "succeeded");
      return { id, ...(await ask(id)).json };
    };
    const text = await result("text");
    expect(text).to.include({
      result: null,
      contentType: "text/plain; charset=utf-8",
      href: `/v1/requests/${text.id}`,
    });
    for (const kind of ["nothing", "empty", "null"]) expect(await result(kind)).to.include({ result: null });
    expect((await result("created")).result).to.deep.equal({ made: true });
  });

  it("validates the input before it is stored, and keeps the id for a valid one", async () => {
    const id = await allocate("checked");
    expect((await ask(id, "POST", { width: 0 })).json).to.include({ type: "/problems/invalid-input", status: 400 });
    expect((await ask(id, "POST", "{")).json).to.include({ type: "/problems/malformed-json" });
    expect((await ask(id)).json.status).to.equal("allocated");
    expect((await ask(id, "POST", { width: 7 })).status).to.equal(202);
    await until(id, "succeeded");
    expect((await ask(id)).json.result).to.deep.equal({ width: 7 });
  });
});
