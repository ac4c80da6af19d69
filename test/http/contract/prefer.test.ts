import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { type Submitted, type TasksOfEach, tasksOfEach } from "./task-states.ts";

/** Every combination of preferences, with what it makes of a task that is soon done, and of one that is not (RFC 7240 §3, §4). */
const COMBINATIONS = [
  { prefer: undefined, done: [200, undefined], pending: [504, undefined] },
  { prefer: "respond-async", done: [202, "respond-async"], pending: [202, "respond-async"] },
  { prefer: "wait=1", done: [200, "wait=1"], pending: [202, "wait=1"] },
  { prefer: "wait=0", done: [202, "wait=0"], pending: [202, "wait=0"] },
  { prefer: "wait", done: [200, "wait"], pending: [202, "wait"] },
  { prefer: "respond-async, wait=1", done: [200, "wait=1"], pending: [202, "respond-async, wait=1"] },
  { prefer: "respond-async, wait=0", done: [202, "respond-async, wait=0"], pending: [202, "respond-async, wait=0"] },
  { prefer: 'WAIT = "1", wait=0', done: [200, "wait=1"], pending: [202, "wait=1"] },
  { prefer: "wait=soon", done: [200, undefined], pending: [504, undefined] },
  { prefer: "return=minimal, handling=strict", done: [200, undefined], pending: [504, undefined] },
] as const;

describe("the contract: Prefer on a submission (RFC 7240)", () => {
  let server: TestServer;
  let each: TasksOfEach;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "400ms" });
    each = await tasksOfEach(server);
  });
  after(async () => {
    each.release();
    await server.stop();
  });

  const asked = (prefer: string | undefined) => (prefer === undefined ? {} : { Prefer: prefer });
  const again = ({ id, queue, input }: Submitted, prefer: string | undefined) =>
    server.post(queue, input, { "X-Request-Id": id, ...asked(prefer) });
  const seen = ({ status, headers }: Answer) => [status, headers["preference-applied"]];

  for (const { prefer, done, pending } of COMBINATIONS) {
    const name = prefer ?? "no Prefer";
    it(`${name}: ${done.join(" ")} if the task ends in time`, async () => {
      expect(seen(await server.post("default", { n: 1 }, asked(prefer)))).to.deep.equal(done);
    });

    it(`${name}: ${pending.join(" ")} if it does not, for a new and a repeated submission`, async () => {
      const [repeated, first] = await Promise.all([
        again(each.tasks.running, prefer),
        server.send("/v1/queues/default/requests?delay=3600", {
          method: "POST",
          headers: asked(prefer),
          body: { name },
        }),
      ]);
      expect(seen(repeated)).to.deep.equal(pending);
      expect(repeated.headers["idempotent-replayed"]).to.equal("true");
      expect(seen(first)).to.deep.equal(pending);
      expect(first.headers).not.to.have.property("idempotent-replayed");
    });

    it(`${name}: the result at once if it had ended before, and only wait is applied`, async () => {
      const answer = await again(each.tasks.succeeded, prefer);
      const applied = done[0] === 200 ? done[1] : undefined;
      expect(seen(answer)).to.deep.equal([200, applied]);
      expect(answer.headers["idempotent-replayed"]).to.equal("true");
    });
  }

  it("is never refused", async () => {
    for (const prefer of [",,,", "=", '"', "wait==1", "respond-async; ;", "\u00e9=1", "x".repeat(4000)]) {
      const { status } = await server.post("default", {}, { Prefer: Buffer.from(prefer).toString("latin1") });
      expect(status, prefer).to.be.oneOf([200, 202]);
    }
  });
});
