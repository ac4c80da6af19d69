import { startCluster } from "../helpers/cluster.ts";
import { openEngine } from "../helpers/engine.ts";
describe("x", () => {
  it("y", async function () {
    this.timeout(60000);
    console.time("start");
    const c = await startCluster();
    console.timeEnd("start");
    const t = await openEngine({ url: c.url, partitions: 6 });
    console.time("first");
    console.log(await t.submit());
    console.timeEnd("first");
    console.time("many");
    for (let n = 0; n < 1000; n++) { const v = await t.submit(); if (v.index !== n + 1) throw new Error(`${n} ${v.index}`); }
    console.timeEnd("many");
    let heard = 0;
    const stop = await t.engine.notices.listen(t.keys.workChannel(0, "other"), () => { heard++; });
    await t.redis.eval("return redis.call('SPUBLISH', KEYS[1]..'n:other', 'x')", 1, t.keys.tag(0));
    await new Promise(r => setTimeout(r, 100));
    console.log({ heard }); stop();
    await t.close();
    await c.stop();
  });
});
