import { expect } from "chai";
import { eventually } from "../../../shared/eventually.ts";
import { Api, openDoor, QUEUE, type TestDoor } from "./door.ts";

describe("a door whose API is down", () => {
  let api: Api;
  let door: TestDoor;
  beforeEach(async () => {
    api = await Api.start();
    door = await openDoor(api.url, { slots: 2 });
  });
  afterEach(async () => {
    await door.stop();
    await api.stop();
  });
  const resting = async () => (await door.server.send(`/v1/queues/${QUEUE}`)).json.resting;

  it("keeps everybody's place while it cannot be reached, and calls them all when it can", async () => {
    const { port } = api;
    await api.stop();
    const first = door.call("/1", { method: "POST", body: "x".repeat(100_000) });
    const state = await eventually(async () => (await resting()) ?? false, 10_000);
    expect(state.reason).to.equal("ECONNREFUSED");
    const others = [2, 3, 4].map((n) => door.call(`/${n}`));
    const { items } = await eventually(async () => {
      const { json } = await door.server.send(`/v1/queues/${QUEUE}/waiting`);
      return json.items.length >= 3 && json;
    });
    expect(items.length).to.be.within(3, 4);
    expect((await door.line()).running, "probes one at a time").to.be.at.most(1);
    api = await Api.start(port);
    for (const { answer } of [first, ...others]) expect((await answer).text).to.equal("ok");
    expect(api.asked.map(({ line }) => line).sort()).to.deep.equal(["GET /2", "GET /3", "GET /4", "POST /1"]);
    expect(await resting()).to.equal(null);
    await door.expectFree();
  });

  it("finds out that it can be reached again although a turn from before goes on", async () => {
    const { port } = api;
    const old = door.call("/hold/old");
    const { response } = await api.next();
    response.write("begun, ");
    await old.head;
    api.refuse();
    const kept = door.call("/hold/kept");
    await eventually(async () => (await resting()) !== null, 10_000);
    const next = await Api.start(port);
    const asked = await next.next();
    asked.response.write("also ");
    // It is up although no answer has ended.
    await eventually(async () => (await resting()) === null, 5000);
    asked.response.end("ok");
    expect((await kept.answer).text).to.equal("also ok");
    response.end("done");
    expect((await old.answer).text).to.equal("begun, done");
    await door.expectFree();
    await next.stop();
  });

  it("passes its 503 on, and rests after five", async () => {
    const callers = [1, 2, 3, 4, 5, 6, 7].map((n) => door.call(`/hold/${n}`));
    for (let n = 0; n < 5; n += 1) (await api.next()).response.writeHead(503).end("busy");
    for (const caller of callers.slice(0, 5)) {
      const { status, text, headers } = await caller.answer;
      expect([status, text, headers["x-should-retry"]]).to.deep.equal([503, "busy", undefined]);
    }
    const sixth = await api.next();
    // The sixth had been called before the fifth was answered.
    await eventually(async () => (await resting()) !== null, 5000);
    sixth.response.end("ok");
    (await api.next()).response.end("ok");
    for (const caller of callers.slice(5)) expect((await caller.answer).text).to.equal("ok");
    await door.expectFree();
  });
});
