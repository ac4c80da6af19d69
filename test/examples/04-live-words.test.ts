import { expect } from "chai";
import { startDemo } from "../../examples/04-live-words/demo.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";

interface PageEvent {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  readonly data: any;
}

describe("examples/04-live-words", () => {
  it("sends its page the words as they are made, then the whole text", async () => {
    const store = { redisUrl: storeUrl(), keyPrefix: uniquePrefix() };
    const demo = await startDemo(store);
    try {
      const page = await (await fetch(demo.pageUrl)).text();
      expect(page).to.contain(demo.apiUrl);
      expect((await fetch(`${demo.pageUrl}/page.js`)).headers.get("content-type")).to.equal("text/javascript");
      const path = "../../examples/04-live-words/page/events.js";
      const { readEvents } = (await import(path)) as { readEvents(response: Response): AsyncIterable<PageEvent> };
      const response = await fetch(`${demo.apiUrl}/v1/queues/words/requests`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "text/event-stream", Origin: demo.pageUrl },
        body: JSON.stringify({ about: "a fox" }),
      });
      expect(response.headers.get("access-control-allow-origin")).to.equal(demo.pageUrl);
      const events: PageEvent[] = [];
      for await (const event of readEvents(response)) events.push(event);
      const words = events.filter(({ name }) => name === "output").map(({ data }) => data.data);
      expect(words.length).to.be.greaterThan(30);
      const done = events.at(-1);
      expect(done?.name).to.equal("done");
      expect(done?.data.result.text).to.equal(words.join(" "));
    } finally {
      await demo.stop();
      await removeKeys(store.redisUrl, store.keyPrefix);
    }
  });
});
