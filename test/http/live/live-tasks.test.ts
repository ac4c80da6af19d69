import { EventEmitter } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { Context } from "koa";
import { watchedTasks } from "../../../src/engine/watch/watch.ts";
import { Watchers } from "../../../src/engine/watch/watchers.ts";
import type { Api } from "../../../src/http/api.ts";
import { LiveTasks } from "../../../src/http/live/live-tasks.ts";
import { Streams } from "../../../src/http/server/streams.ts";

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
      inspector: { inspect: async () => null },
      outputs: { read: async () => ({ total: 0, values: [] }) },
    } as unknown as Api["engine"];
    const streams = new Streams(1, new AbortController().signal);
    const api = { engine, streams, closing: new AbortController().signal } as unknown as Api;
    const watchers = new Watchers(watchedTasks(engine));
    const live = new LiveTasks(api, watchers);
    const res = Object.assign(new EventEmitter(), {
      destroyed: true,
      writeHead: () => undefined,
      flushHeaders: () => undefined,
      write: () => false,
      end: () => undefined,
      destroy: () => undefined,
    });
    const ctx = { state: {}, res } as unknown as Context;
    const task = { id: "gone", queue: "jobs", caller: null, createdMs: 1 };
    await live.followEvents(ctx, task, "");
    await live.followOutput(ctx, task, 0);
    live.beginEvents(ctx, task);
    await turn();
    expect([listening.size, watchers.size, res.eventNames()]).to.deep.equal([0, 0, ["drain", "error"]]);
  });
});
