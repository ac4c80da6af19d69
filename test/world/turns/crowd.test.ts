import { expect } from "chai";
import { defineTurns } from "../../../src/handler/turns.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";
import { Resource } from "./resource.ts";

const CROWD = 1000;
/** Most that a page of the line has. */
const PAGE = 200;

describe("a thousand who wait for one turn", function () {
  this.timeout(120_000);
  let server: TestServer;
  before(async () => {
    const gpu = defineTurns({ queue: "gpu" });
    server = await startServer(
      { LOG_LEVEL: "warn", MAX_STREAMS: String(2 * CROWD), SYNC_LIMIT: "90s" },
      { handlers: new Map([["gpu", gpu]]) },
    );
  });
  after(() => server?.stop());

  const send = (path: string, method = "GET") => server.send(path, { method, contract: false });
  const line = async () => {
    const ids: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { json } = await send(`/v1/queues/gpu/waiting?limit=${PAGE}${cursor && `&cursor=${cursor}`}`);
      ids.push(...json.items.map(({ id }: { id: string }) => id));
      cursor = json.next;
    }
    return ids;
  };

  it("are called one after the other, each once, in their order", async () => {
    const resource = new Resource();
    const [first] = await server.batch("gpu", "1\n");
    const callers = Array.from({ length: CROWD }, async () => {
      const called = await send("/v1/queues/gpu/requests", "POST");
      expect(called.status, called.text).to.equal(200);
      const { id, turn } = called.json;
      expect(resource.use(id, turn.fence)).to.equal(true);
      // Others have time to be called while this one works.
      expect((await send("/v1/queues/gpu")).json.running).to.equal(1);
      resource.left(id);
      expect((await send(`/v1/requests/${id}/done?turn=${turn.fence}`, "POST")).json.state).to.equal("succeeded");
    });
    await eventually(async () => (await send("/v1/queues/gpu")).json.waiting === CROWD);
    const expected = await line();
    expect(expected).to.have.length(CROWD);
    await send(`/v1/requests/${first.id}/done`, "POST");
    await Promise.all(callers);
    expect(resource.uses.map(({ by }) => by)).to.deep.equal(expected);
    expect([resource.most, resource.refused]).to.deep.equal([1, []]);
    const fences = resource.uses.map(({ fence }) => fence);
    expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
    expect(new Set(fences).size).to.equal(CROWD);
    expect((await send("/v1/queues/gpu")).json).to.include({ running: 0, waiting: 0 });
  });
});
