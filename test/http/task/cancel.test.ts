import { expect } from "chai";
import type { Context } from "koa";
import type { Api } from "../../../src/http/api.ts";
import { openAccess } from "../../../src/http/task/access.ts";
import { collectRoutes } from "../../../src/http/task/collect.ts";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("canceling: DELETE /v1/requests/{id}", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const cancel = (id: string) => server.send(`/v1/requests/${id}`, { method: "DELETE" });

  it("answers from the verdict: 202 for a cancel that was requested, though the task has ended since, or is gone", async () => {
    const running = {
      id: "raced",
      queue: "jobs",
      caller: null,
      state: "running",
      createdMs: 1,
      snapshot: {},
      allowed: [],
    };
    const ended = { ...running, state: "canceled", finishedMs: 2, expiresMs: 3, index: null, ahead: null };
    for (const later of [ended, null]) {
      const looks = [running, later];
      const engine = {
        inspector: { inspect: async () => looks.shift() ?? null },
        call: async () => "requested",
        queues: { settings: () => ({ attempts: 3 }) },
      };
      const api = { engine, handlers: new Map(), log: { info: () => undefined } } as unknown as Api;
      const ctx = {
        state: { access: openAccess() },
        req: { headers: {} },
        params: { id: "raced" },
        set: () => undefined,
      };
      await collectRoutes(api)
        .find(({ name }) => name === "cancel")
        ?.run(ctx as unknown as Context);
      expect(ctx).to.include({ status: 202 });
      expect((ctx as unknown as Context).body).to.include({
        state: "running",
        index: 0,
        cancelRequested: true,
        finishedAt: null,
      });
    }
  });

  it("answers a caller who waits for the task at once", async () => {
    const gate = closedGate();
    const waiting = server.post("gated-too", gate.input, { "X-Request-Id": "awaited" });
    await gate.entered;
    await cancel("awaited");
    expect((await waiting).json).to.include({ type: "/problems/canceled", status: 410 });
  });
});
