import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../helpers/server.ts";

/**
 * Clients that know nothing of Paihao: only how long-running operations are done elsewhere (Azure's and Google's guidelines,
 * RFC 9110). They follow headers as they are given, and words of a document that they find by convention.
 */
describe("a client that knows only long-running operations in general", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ PENDING_STATUS: "202" });
  });
  after(() => server.stop());

  const submit = (queue: string, input: unknown) => server.post(queue, input, { Prefer: "respond-async" });
  const at = (place: unknown) => server.send(new URL(String(place), server.url).href.slice(server.url.length));
  /** A well-behaved client pauses for so long; this one only checks that it could. */
  const checkPause = (answer: Answer) => expect(Number(answer.headers["retry-after"])).to.be.within(1, 300);

  /** Polls Operation-Location until `status` is one of the words that end an operation, then takes what Location has. */
  const operate = async (queue: string, input: unknown) => {
    const accepted = await submit(queue, input);
    expect(accepted.status).to.equal(202);
    let monitor = await at(accepted.headers["operation-location"]);
    while (!/^(succeeded|failed|canceled)$/i.test(monitor.json.status)) {
      expect(monitor.status).to.be.within(200, 299);
      checkPause(monitor);
      monitor = await at(accepted.headers["operation-location"]);
    }
    return { monitor, result: await at(accepted.headers.location) };
  };

  it("succeeds by Operation-Location, status words and Location", async () => {
    const { monitor, result } = await operate("answers", { kind: "created" });
    expect(monitor.json.status).to.equal("succeeded");
    expect(result.status).to.equal(201);
    expect(result.json).to.deep.equal({ made: true });
  });

  it("fails properly: a word, an error with code and message, and a result that is an error", async () => {
    const { monitor, result } = await operate("giving-up", { status: 422, title: "No", detail: "Because." });
    expect(monitor.status).to.equal(200);
    expect(monitor.json).to.deep.include({ status: "failed", error: { code: "task-failed", message: "Because." } });
    expect(result.status).to.equal(422);
    expect(result.json).to.include({ title: "No", detail: "Because." });
  });

  it("succeeds and fails by Location and status codes alone: 202 is not yet, anything else is the answer", async () => {
    for (const [queue, input, status] of [
      ["answers", { kind: "json" }, 200],
      ["answers", { kind: "nothing" }, 204],
      ["failing", 1, 500],
    ] as const) {
      const { location } = (await submit(queue, input)).headers;
      let answer = await at(location);
      while (answer.status === 202) {
        checkPause(answer);
        expect(answer.headers.location).to.equal(location);
        answer = await at(location);
      }
      expect(answer.status).to.equal(status);
    }
  });

  it("is led by redirect from the monitor to the result, as RFC 9110 §15.4.4 has it", async () => {
    const { headers } = await submit("answers", { kind: "json" });
    const monitor = `${headers["operation-location"]}?onComplete=redirect`;
    let answer = await at(monitor);
    while (answer.status === 202) answer = await at(monitor);
    expect(answer.status).to.equal(303);
    expect((await at(answer.headers.location)).json).to.deep.equal({ grüße: "世界 🎫" });
  });

  it("ends by DELETE what it no longer wants, and sees the word for it", async () => {
    const sent = { method: "POST", headers: { Prefer: "respond-async" }, body: 1 };
    const { headers } = await server.send("/v1/requests?delay=3600", sent);
    await server.send(String(headers.location), { method: "DELETE" });
    const monitor = await at(headers["operation-location"]);
    expect(monitor.json.status).to.equal("canceled");
    expect((await at(headers.location)).status).to.equal(410);
  });
});
