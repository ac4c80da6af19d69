import { expect } from "chai";
import { LONGEST_DELAY_S } from "../../../src/task.ts";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const HOUR_MS = 3_600_000;
const YEAR_MS = LONGEST_DELAY_S * 1000;
const realNow = Date.now;
const ASYNC = { Prefer: "respond-async" };

describe("submitting over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  it("has an ETA once there is history, in the body and as a header", async () => {
    const gates = [closedGate(), closedGate(), closedGate()];
    const [first, second] = gates;
    const earlier = closedGate();
    earlier.open();
    for (let n = 0; n < 10; n += 1) await server.post("gated", { ...earlier.input, n });
    await server.enqueue("gated", first?.input);
    await first?.entered;
    await server.enqueue("gated", second?.input);
    const answer = await server.post("gated", gates[2]?.input, ASYNC);
    expect(answer.json.eta).to.have.all.keys("seconds", "low", "high", "basis", "samples");
    expect(answer.json.eta.basis).to.equal("history");
    expect(answer.headers["x-queue-eta"]).to.equal(String(answer.json.eta.seconds));
    for (const gate of gates) gate.open();
    await server.until(answer.json.id, "succeeded");
  });

  it("counts and logs no refusal for a caller that hangs up while it waits", async () => {
    const errors = async () =>
      /^paihao_http_responses_total{status="5xx"} (\d+)$/m.exec((await server.send("/metrics")).text)?.[1];
    const before = await errors();
    expect(before).to.be.a("string");
    const gate = closedGate();
    const headers = { "Content-Type": "application/json", "X-Request-Id": "hung-up" };
    const hungUp = new AbortController();
    const { signal } = hungUp;
    const body = JSON.stringify(gate.input);
    const answer = fetch(`${server.url}/v1/queues/gated/requests`, { method: "POST", headers, body, signal });
    await gate.entered;
    hungUp.abort();
    await answer.catch(() => undefined);
    const lines = () => server.log.filter(({ requestId }) => requestId === "hung-up");
    await eventually(() => lines().some(({ msg }) => msg === "request"));
    expect(lines().filter(({ level }) => Number(level) > 30)).to.deep.equal([]);
    expect(await errors()).to.equal(before);
    gate.open();
    await server.until("hung-up", "succeeded");
  });

  it("joins several Prefer headers, of which the first wait wins (RFC 7240 §2)", async () => {
    const gate = closedGate();
    const answer = await server.post("gated-too", gate.input, { Prefer: ["handling=lenient", "wait=0", "wait=20"] });
    expect(answer.status).to.equal(202);
    expect(answer.headers["preference-applied"]).to.equal("wait=0");
    gate.open();
  });

  for (const wrongMs of [-HOUR_MS, HOUR_MS]) {
    it(`compares times with the clock of Redis, not with its own, which is wrong by ${wrongMs / 60_000} min`, async () => {
      const at = (ms: number) => new Date(realNow() + ms).toISOString();
      const submit = (query: string) =>
        server.send(`/v1/requests?${query}`, { method: "POST", headers: ASYNC, body: 1 });
      Date.now = () => realNow() + wrongMs;
      try {
        const later = at(HOUR_MS / 2);
        const answer = await submit(`notBefore=${later}&deadline=${HOUR_MS / 1000}`);
        expect(answer.json).to.include({ state: "scheduled" });
        expect(answer.json.eta.seconds).to.be.within(HOUR_MS / 2000 - 10, HOUR_MS / 2000);
        const monitor = (await server.send(`/v1/requests/${answer.json.id}/status`)).json;
        expect(monitor.eta.seconds).to.be.within(HOUR_MS / 2000 - 10, HOUR_MS / 2000);
        const dry = await submit(`notBefore=${later}&dryRun=true`);
        expect(dry.json.index).to.equal(null);
        expect(dry.json.eta.seconds).to.be.within(HOUR_MS / 2000 - 10, HOUR_MS / 2000);
        const moved = await server.send(`/v1/requests/${answer.json.id}`, {
          ...{ method: "PATCH", body: { notBefore: at(HOUR_MS / 4) } },
        });
        expect(moved.json.eta.seconds).to.be.within(HOUR_MS / 4000 - 10, HOUR_MS / 4000);
        const refused = await submit(`notBefore=${later}&deadline=${HOUR_MS / 2000 - 60}`);
        expect([refused.status, refused.json.parameter]).to.deep.equal([400, "deadline"]);
        expect((await submit(`notBefore=${at(-1000)}`)).json.state).to.equal("waiting");
        expect((await submit(`notBefore=${at(YEAR_MS - 60_000)}`)).json.state).to.equal("scheduled");
        const far = await submit(`notBefore=${at(YEAR_MS + 60_000)}`);
        expect([far.status, far.json.parameter]).to.deep.equal([400, "notBefore"]);
      } finally {
        Date.now = realNow;
      }
    });
  }

  it("runs urgent tasks first (RFC 9218 §4.1: u=0 before u=3 before u=7)", async () => {
    const gate = closedGate();
    const first = await server.enqueue("gated-too", gate.input);
    await gate.entered;
    const submit = async (priority: string) =>
      (await server.post("gated-too", gate.input, { ...ASYNC, Priority: priority })).json;
    const least = await submit("u=7");
    const usual = await submit("u=9");
    const most = await submit("u=0, i");
    expect([least.index, usual.index, most.index]).to.deep.equal([0, 0, 0]);
    const index = async (id: string) => (await server.send(`/v1/requests/${id}`)).json.index;
    expect(await Promise.all([index(most.id), index(usual.id), index(least.id)])).to.deep.equal([0, 1, 2]);
    gate.open("done");
    await server.until(least.id, "succeeded");
    expect((await server.send(`/v1/requests/${first}`)).status).to.equal(200);
  });
});
