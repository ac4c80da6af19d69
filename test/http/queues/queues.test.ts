import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("queues over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  it("show depth, running, dead, workers, rates and service times", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    await server.enqueue("gated", gate.input);
    await server.enqueue("gated", gate.input);
    await server.enqueue("gated", gate.input, "?delay=3600");
    const { json } = await server.send("/v1/queues/gated");
    expect(json).to.include({ name: "gated", paused: false, waiting: 2, scheduled: 1, running: 1, dead: 0 });
    expect(json).to.include({ workers: 1, slots: 1 });
    expect(json.oldestWaitingSeconds).to.be.within(0, 10);
    expect(json.rate.accepted).to.equal(0.067);
    expect(json.serviceTime).to.deep.equal({ mean: null, samples: 0 });
    expect(json.eta, "without history nobody can say").to.equal(null);
    gate.open("done");
    const last = await server.enqueue("gated", gate.input);
    await server.until(last, "succeeded");
    const after = (await server.send("/v1/queues/gated")).json;
    expect(after).to.include({ waiting: 0, running: 0, oldestWaitingSeconds: null });
    expect(after.serviceTime.samples).to.equal(4);
    expect(after.serviceTime.mean).to.be.a("number");
    expect(after.rate.finished).to.be.above(0);
    expect(after.eta).to.deep.include({ seconds: 0, basis: "idle" });
  });

  it("say how many slots would keep the target wait, in the document and as a metric that has no value where it is unknown", async () => {
    const gauge = async (queue: string) => {
      const { text } = await server.send("/metrics");
      return new RegExp(`^paihao_queue_slots_wanted\\{queue="${queue}"\\} (\\d+)$`, "m").exec(text)?.[1];
    };
    const wanted = async () => [(await server.send("/v1/queues/scaled")).json.slotsWanted, await gauge("scaled")];
    expect(await wanted(), "no work").to.deep.equal([0, "0"]);
    const first = closedGate();
    const id = await server.enqueue("scaled", first.input);
    await first.entered;
    expect(await wanted(), "without history nobody can say").to.deep.equal([null, undefined]);
    // So that the service time is far longer than the target.
    await new Promise((resolve) => setTimeout(resolve, 50));
    first.open("done");
    await server.until(id, "succeeded");

    const second = closedGate();
    await server.enqueue("scaled", second.input);
    await second.entered;
    for (let n = 0; n < 3; n += 1) await server.enqueue("scaled", second.input);
    // At least 50 ms of work each and a target of 1 ms: as good as a slot for each task, and one for the newcomer.
    expect(await wanted()).to.deep.equal([5, "5"]);
    await server.send("/v1/queues/scaled/pause", { method: "POST" });
    expect(await wanted()).to.deep.equal([null, undefined]);
    await server.send("/v1/queues/scaled/resume", { method: "POST" });
    second.open("done");
    expect((await server.send("/v1/queues/default")).json.slotsWanted, "no work").to.equal(0);
    expect(await gauge("default")).to.equal("0");
  });

  it("show what they are for and what they accept: media types, and the JSON Schema of the input if there is one", async () => {
    const { json } = await server.send("/v1/queues/checked");
    expect(json.consumes).to.deep.equal(["application/json"]);
    expect(json.input).to.deep.include({ type: "object" });
    expect(json.input.properties.width).to.include({ type: "integer", minimum: 1, maximum: 100 });
    const described = "Answers with what it got.";
    expect((await server.send("/v1/queues/default")).json.description).to.equal(described);
    const { paths } = (await server.send("/openapi.json")).json;
    expect(paths["/v1/queues/default/requests"].post.description).to.include(described);
    expect((await server.send("/v1/queues/images")).json).to.deep.include({ consumes: ["image/*"], input: null });
  });
});
