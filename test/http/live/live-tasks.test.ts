import { expect } from "chai";
import type { Context } from "koa";
import { Watchers } from "../../../src/engine/watching/watchers.ts";
import type { Api } from "../../../src/http/api.ts";
import { LiveTasks } from "../../../src/http/live/live-tasks.ts";

describe("the live answers", () => {
  it("leave nothing behind if the client goes before its stream begins", async () => {
    const listening = new Set<object>();
    const engine = {
      notices: {
        listen() {
          const one = { ready: Promise.resolve(), stop: () => listening.delete(one) };
          listening.add(one);
          return one;
        },
      },
      figures: async () => [],
      tasks: { inspect: async () => null },
      outputs: { read: async () => ({ total: 0, values: [] }) },
    } as unknown as Api["engine"];
    const api = { engine, stopping: new AbortController().signal } as unknown as Api;
    const live = new LiveTasks(api, new Watchers(engine));
    const ctx = { state: {}, res: { destroyed: true } } as unknown as Context;
    await live.followEvents(ctx, { id: "gone", caller: null, createdMs: 1 }, "");
    await live.followOutput(ctx, { id: "gone", caller: null, createdMs: 1 }, 0);
    expect(listening.size).to.equal(0);
  });
});
