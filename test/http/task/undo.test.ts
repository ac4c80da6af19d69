import path from "node:path";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/undo");
const POST = { method: "POST" };
const UNDO = "/v1/queues/paihao.undo";

describe("a dead task whose steps are being undone", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ HANDLERS });
  });
  after(() => server.stop());

  const retry = (id: string) => server.send(`/v1/requests/${id}/retry`, POST);
  const waiting = async () => Number((await server.send(UNDO)).json.waiting);

  it("cannot be retried: 409 not-retryable, with the reason undone, or not-dead if it is not dead", async () => {
    const id = await server.enqueue("booking", { undoable: true });
    await server.until(id, "failed");
    await eventually(async () => {
      const { json } = await server.send(UNDO);
      return json.waiting === 0 && json.running === 0;
    });
    const answer = await retry(id);
    expect(answer.status).to.equal(409);
    expect(answer.json).to.include({ type: "/problems/not-retryable", id, state: "failed", reason: "undone" });
    expect((await server.send("/v1/queues/booking/dead/retry", POST)).json).to.deep.equal({ retried: 0 });

    const scheduled = await server.enqueue("booking", { undoable: true }, "?delay=3600");
    expect((await retry(scheduled)).json).to.include({ state: "scheduled", reason: "not-dead" });
    await server.send("/v1/queues/booking/dead", { method: "DELETE" });
  });

  it("can be retried while the undo still waits, and continues after its recorded steps", async () => {
    await server.send(`${UNDO}/pause`, POST);
    const ids = [
      await server.enqueue("booking", { undoable: true }),
      await server.enqueue("booking", { undoable: true }),
    ];
    for (const id of ids) await server.until(id, "failed");
    expect(await waiting()).to.equal(2);
    await server.send("/v1/queues/booking/pause", POST);
    const [one = "", other = ""] = ids;
    expect((await retry(one)).status).to.equal(202);
    expect(await waiting()).to.equal(1);
    expect((await server.send("/v1/queues/booking/dead/retry", POST)).json).to.deep.equal({ retried: 1 });
    expect(await waiting()).to.equal(0);

    // Its work stands: it is undone when the task is canceled before it runs again.
    await server.send(`/v1/requests/${one}`, { method: "DELETE" });
    expect(await waiting()).to.equal(1);
    await server.send("/v1/queues/booking/resume", POST);
    await server.until(other, "failed");
    expect(await waiting()).to.equal(2);
    await server.send(`${UNDO}/resume`, POST);
    await eventually(async () => (await waiting()) === 0);
  });
});
