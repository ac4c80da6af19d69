import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import {
  CONDITIONS,
  type Condition,
  ENDED,
  PENDING,
  type Submitted,
  type TasksOfEach,
  tasksOfEach,
} from "./task-states.ts";

/** What collecting answers, by what has become of the task. */
const COLLECTED: Readonly<Record<string, readonly [status: number, code?: string]>> = {
  succeeded: [200],
  failed: [500, "task-failed"],
  canceled: [410, "canceled"],
  expired: [410, "expired"],
  deleted: [410, "deleted"],
};
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("the contract: the same id again, in every state", () => {
  let server: TestServer;
  let each: TasksOfEach;
  before(async () => {
    server = await startServer({ SYNC_LIMIT: "300ms" });
    each = await tasksOfEach(server);
  });
  after(async () => {
    each.release();
    await server.stop();
  });

  const send = ({ id, queue }: Submitted, input: unknown, headers: Record<string, string> = {}) =>
    server.post(queue, input, { "X-Request-Id": id, ...headers });
  const put = ({ id, queue }: Submitted, input: unknown, headers: Record<string, string> = {}) =>
    server.send(`/v1/queues/${queue}/requests/${id}`, { method: "PUT", headers, body: input });
  const expectProblem = (answer: Answer, status: number, code: string) => {
    expect(answer.status, answer.text).to.equal(status);
    expect(answer.json).to.include({ type: `/problems/${code}`, status });
  };
  /** Without what changes from one look to the next. */
  const steady = ({ status, headers, text }: Answer) => ({ status, etag: headers.etag, text });

  for (const condition of PENDING) {
    it(`${condition}: 202 with the current place by POST and PUT if asynchronous, else 504 after the limit`, async () => {
      const task = each.tasks[condition];
      for (const again of [send, put]) {
        const async = await again(task, task.input, { Prefer: "respond-async" });
        expect(async.status, async.text).to.equal(202);
        expect(async.json).to.include({ id: task.id, queue: task.queue, state: condition });
        expect(async.headers).to.include({ "x-request-id": task.id, "idempotent-replayed": "true" });
        const sync = await again(task, task.input);
        expectProblem(sync, 504, "sync-timeout");
        expect(sync.json).to.include({ id: task.id, state: condition });
        expect(sync.headers).to.include({ location: `/v1/requests/${task.id}`, "idempotent-replayed": "true" });
      }
    });
  }

  for (const condition of ENDED) {
    it(`${condition}: the same answer as GET of the result, by POST and PUT, with any Prefer`, async () => {
      const task = each.tasks[condition];
      const collected = await server.send(`/v1/requests/${task.id}`);
      const [status, code] = COLLECTED[condition] ?? [0];
      if (code === undefined) expect(collected.status).to.equal(status);
      else expectProblem(collected, status, code);
      for (const again of [send, put]) {
        for (const prefer of ["", "respond-async", "wait=1", "wait=0", "respond-async, wait=1"]) {
          const answer = await again(task, task.input, prefer === "" ? {} : { Prefer: prefer });
          expect(steady(answer), prefer).to.deep.equal(steady(collected));
          expect(answer.headers).to.include({ "x-request-id": task.id, "idempotent-replayed": "true" });
        }
      }
    });
  }

  for (const condition of CONDITIONS) {
    it(`${condition}: 409 id-conflict with another input by POST, and on another queue by both`, async () => {
      const task = each.tasks[condition];
      const elsewhere = { ...task, queue: task.queue === "answers" ? "default" : "answers" };
      for (const answer of [
        await send(task, { other: true }, { Prefer: "respond-async" }),
        await send(elsewhere, task.input, { Prefer: "respond-async" }),
        await put(elsewhere, task.input, { Prefer: "respond-async" }),
      ]) {
        expectProblem(answer, 409, "id-conflict");
        expect(answer.headers).not.to.have.property("idempotent-replayed");
      }
    });
  }

  const MUTABLE: readonly Condition[] = ["waiting", "scheduled"];
  for (const condition of CONDITIONS.filter((c) => !MUTABLE.includes(c))) {
    it(`${condition}: 409 id-conflict with another input by PUT`, async () => {
      expectProblem(await put(each.tasks[condition], { other: true }), 409, "id-conflict");
    });
  }

  it("answers 410 with what became of a result, and when (the tombstone)", async () => {
    for (const condition of ["canceled", "expired", "deleted"] as const) {
      const { id, queue } = each.tasks[condition];
      const answer = await server.send(`/v1/requests/${id}`);
      expectProblem(answer, 410, condition);
      expect(answer.json).to.include({ id, queue, state: condition === "canceled" ? "canceled" : "succeeded" });
      expect(answer.json.finishedAt).to.match(RFC3339);
      if (condition !== "expired") continue;
      expect(answer.json.expiredAt).to.match(RFC3339);
      expect(Date.parse(answer.json.expiredAt)).to.be.least(Date.parse(answer.json.finishedAt));
    }
    const monitor = await server.send(`/v1/requests/${each.tasks.deleted.id}/status`);
    expectProblem(monitor, 410, "deleted");
    expect(monitor.json).to.include({ state: "succeeded" }).and.to.have.property("finishedAt").that.matches(RFC3339);
  });

  // The last: afterwards these have other inputs.
  for (const condition of MUTABLE) {
    it(`${condition}: 200 and the monitor document with another input by PUT, in any mode; it keeps its place`, async () => {
      const task = each.tasks[condition];
      const { index } = (await server.send(`/v1/requests/${task.id}/status`)).json;
      for (const [prefer, n] of [["respond-async", 1] as const, ["wait=1", 2] as const, ["", 3] as const]) {
        const answer = await put(task, { gate: task.id, n }, prefer === "" ? {} : { Prefer: prefer });
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.json).to.include({ id: task.id, state: condition, index, attempt: 0 });
        expect(answer.headers).not.to.have.any.keys("preference-applied", "idempotent-replayed");
      }
      expectProblem(await send(task, task.input), 409, "id-conflict");
    });
  }
});
