import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { LroClient } from "./lro-client.ts";

describe("a generic client of long-running operations (Azure's and Google's guidelines)", () => {
  let server: TestServer;
  let accepting: TestServer;
  before(async () => {
    server = await startServer();
    accepting = await startServer({ PENDING_STATUS: "202" });
  });
  after(() => Promise.all([server.stop(), accepting.stop()]));

  /** Does in each pause what a test wants done meanwhile, in place of waiting. */
  const client = (...steps: (() => void)[]) => {
    const pauses: number[] = [];
    const lro = new LroClient(async (seconds) => {
      pauses.push(seconds);
      steps.shift()?.();
    });
    return { lro, pauses };
  };
  const at = (path: string) => `${server.url}${path}`;

  it("waits for an operation that succeeds, and gets its result", async () => {
    const gate = closedGate();
    const { lro, pauses } = client(
      () => undefined,
      () => gate.open({ answer: 42 }),
    );
    const { word, response } = await (await lro.start(at("/v1/queues/gated/requests"), gate.input)).end();
    expect([word, response.status, await response.json()]).to.deep.equal(["succeeded", 200, { answer: 42 }]);
    expect(pauses.length).to.be.at.least(2);
  });

  it("learns of one that fails, and why", async () => {
    const { lro } = client();
    const problem = { status: 422, title: "No", detail: "Because." };
    const { word, response } = await (await lro.start(at("/v1/queues/giving-up/requests"), problem)).end();
    expect([word, response.status]).to.deep.equal(["failed", 422]);
    expect(await response.json()).to.include({ title: "No", detail: "Because." });
  });

  it("polls only Location if a pending result is 202: anything else is the answer", async () => {
    for (const [queue, input, status] of [
      ["answers", { kind: "json" }, 200],
      ["answers", { kind: "nothing" }, 204],
      ["failing", 1, 500],
    ] as const) {
      const { location } = (await accepting.post(queue, input, { Prefer: "respond-async" })).headers;
      let answer = await accepting.send(String(location));
      while (answer.status === 202) {
        expect(Number(answer.headers["retry-after"])).to.be.within(1, 300);
        expect(answer.headers.location).to.equal(location);
        answer = await accepting.send(String(location));
      }
      expect(answer.status).to.equal(status);
    }
  });

  it("is redirected from the monitor to the result (RFC 9110 §15.4.4)", async () => {
    const { headers } = await server.post("answers", { kind: "json" }, { Prefer: "respond-async" });
    const monitor = `${headers["operation-location"]}?onComplete=redirect`.slice(server.url.length);
    let answer = await server.send(monitor);
    while (answer.status === 202) answer = await server.send(monitor);
    expect(answer.status).to.equal(303);
    expect((await server.send(String(answer.headers.location))).json).to.deep.equal({ grüße: "世界 🎫" });
  });

  it("cancels an operation", async () => {
    const { lro } = client();
    const operation = await lro.start(at("/v1/requests?delay=3600"), 1);
    expect((await operation.cancel()).status).to.be.oneOf([200, 202, 204]);
    const { word, response } = await operation.end();
    expect([word, response.status]).to.deep.equal(["canceled", 410]);
  });

  it("works with allocated ids, which have only Location", async () => {
    const allocate = async (queue: string) => {
      const { id } = (await server.send(`/api/v1/task?queue=${queue}`)).json;
      return at(`/api/v1/task/${id}`);
    };
    const gate = closedGate();
    const { lro } = client(
      () => undefined,
      () => gate.open("done"),
    );
    const done = await (await lro.start(await allocate("gated"), gate.input)).end();
    expect([done.word, done.response.status]).to.deep.equal(["succeeded", 200]);
    expect(await done.response.json()).to.include({ result: "done", progress: 100 });
    const failed = await (await lro.start(await allocate("giving-up"), { status: 422 })).end();
    expect([failed.word, failed.response.status]).to.deep.equal(["failed", 410]);
    const operation = await lro.start(await allocate("later"), 1);
    expect((await operation.cancel()).status).to.be.oneOf([202, 204]);
    const canceled = await operation.end();
    expect([canceled.response.status, ((await canceled.response.json()) as { reason: string }).reason]).to.deep.equal([
      410,
      "canceled",
    ]);
  });
});
