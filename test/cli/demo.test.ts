import { expect } from "chai";
import { startCli } from "../helpers/cli.ts";
import { processGone } from "../helpers/process.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";

/** What the test reads of queues, workers, tasks and events. */
interface Item {
  readonly own?: boolean;
  readonly pid?: number;
  readonly state?: string;
  readonly kind?: string;
  readonly label?: string;
}
interface Answer {
  readonly items: readonly Item[];
}

describe("paihao demo", function () {
  this.timeout(180_000);

  it("has queues, traffic, failures and workers that are lost, and leaves nothing behind", async () => {
    const url = `http://127.0.0.1:${await reservePort()}`;
    const env = { HOME: process.env.HOME ?? "", HANDLERS: "nowhere", REDIS_URL: "redis://nowhere" };
    const demo = startCli(["demo", "--port", new URL(url).port, "--kill", "15s"], { env });
    const pids = new Set<number>();
    try {
      await demo.until(/is ready on/);
      const get = async (path: string) => (await (await fetch(url + path)).json()) as Answer;
      const until = (path: string, is: (item: Item) => boolean) =>
        eventually(async () => {
          for (const { pid } of (await get("/v1/workers")).items) if (pid) pids.add(pid);
          return (await get(path)).items.some(is);
        }, 90_000);
      const { items } = await get("/v1/queues");
      expect(items.filter(({ own }) => !own)).to.have.length(6);
      await until("/v1/queues/thumbnails/finished", ({ state }) => state === "succeeded");
      await until("/v1/events", ({ kind }) => kind === "worker-lost");
      await until("/v1/queues/invoices/dead", ({ label }) => label === "invoice 2002");
    } finally {
      demo.child.kill("SIGINT");
    }
    expect((await demo.ended).code).to.equal(0);
    expect(pids.size).to.be.at.least(2);
    for (const pid of pids) await processGone(pid);
  });
});
