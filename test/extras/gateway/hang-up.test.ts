import { once } from "node:events";
import type { Socket } from "node:net";
import { expect } from "chai";
import { defineGateway } from "../../../src/extras/gateway/gateway.ts";
import { deferred } from "../../helpers/deferred.ts";
import type { TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";
import { field, startGateways, useGateways } from "./gateway.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";

const gateways = (port: number) => {
  const declare = (queue: string, more = "") =>
    `export const ${queue} = defineGateway({ queue: "${queue}", target: "http://127.0.0.1:${port}", concurrency: 1, attempts: 1${more} });`;
  return [
    declare("usual"),
    declare("never", ", hangUpCancels: false"),
    declare("always", ", hangUpCancels: true"),
  ].join("\n");
};

describe("a caller of a gateway who hangs up", () => {
  const t = useGateways(gateways);
  let count = 0;

  /** A request that the API does not answer yet. */
  const held = () => {
    count += 1;
    const path = `/held-${count}`;
    const sent = deferred<Socket>();
    t.upstream.answer(path, sent.resolve);
    return { path, sent: sent.promise };
  };
  interface Sent {
    readonly queue?: string;
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly of?: TestServer;
  }
  /** Sends a request whose caller can hang up. */
  const call = (path: string, { queue = "usual", method = "POST", headers = {}, of = t.server }: Sent = {}) => {
    count += 1;
    const id = headers["X-Request-Id"] ?? `call-${count}`;
    const abort = new AbortController();
    const sent = { method, headers: { "X-Request-Id": id, ...headers }, signal: abort.signal };
    const answer = fetch(`${of.url}/v1/gateway/${queue}${path}`, sent).then(
      (response) => response.text(),
      () => "hung up",
    );
    return {
      id,
      answer,
      /** Resolves when the server has noticed, and done what follows. */
      hangUp: async (taskId = id) => {
        const handled = () =>
          t.server.log.filter(({ requestId, msg }) => requestId === taskId && msg === "request").length;
        const before = handled();
        abort.abort();
        await eventually(() => handled() > before);
      },
    };
  };
  /** How many submissions a process has found to be repetitions. */
  const repeated = async (of: TestServer) =>
    Number(
      /^paihao_submissions_total{queue="usual",verdict="replay"} (\d+)$/m.exec((await of.send("/metrics")).text)?.[1] ??
        0,
    );
  const state = async (id: string) => (await t.server.send(`/v1/requests/${id}/status`)).json.state;
  const waits = (id: string) => t.server.until(id, "waiting");

  it("leaves the line, and its request to the API is aborted", async () => {
    const [first, second] = [held(), held()];
    const running = call(first.path);
    const socket = await first.sent;
    const waiting = call(second.path);
    await waits(waiting.id);
    await waiting.hangUp();
    expect(await state(waiting.id)).to.equal("canceled");
    const closed = once(socket, "close");
    await running.hangUp();
    await closed;
    await t.server.until(running.id, "canceled");
    expect(await call("/next").answer).to.equal("ok");
    expect(t.upstream.to(second.path)).to.deep.equal([]);
  });

  it("cancels nothing with an Idempotency-Key, with Prefer, by another method, or where the gateway says so", async () => {
    for (const [options, cancels] of [
      [{ headers: { "Idempotency-Key": "mine" } }, false],
      [{ headers: { "Idempotency-Key": "mine" }, queue: "always" }, false],
      [{ headers: { Prefer: "wait=20" } }, false],
      [{ method: "PUT" }, false],
      [{ queue: "never" }, false],
      [{ method: "GET", queue: "always" }, true],
    ] as const) {
      const { path, sent } = held();
      const caller = call(path, options);
      const socket = await sent;
      // An Idempotency-Key leads to another id.
      const [request] = t.upstream.to(path);
      const id = (request && field(request, "x-request-id")) ?? "";
      await caller.hangUp(id);
      if (!cancels) socket.write(OK);
      await t.server.until(id, cancels ? "canceled" : "succeeded");
    }
  });

  it("cancels nothing while someone else waits for the same id, here or at another process", async () => {
    const other = await startGateways(gateways(t.upstream.port), { KEY_PREFIX: t.server.prefix, ROLE: "api" });
    try {
      for (const of of [t.server, other]) {
        const { path, sent } = held();
        const first = call(path);
        const socket = await sent;
        const before = await repeated(of);
        const second = call(path, { headers: { "X-Request-Id": first.id }, of });
        await eventually(async () => (await repeated(of)) > before);
        await first.hangUp();
        expect(await state(first.id)).to.equal("running");
        socket.write(OK);
        expect(await second.answer).to.equal("done");
      }
    } finally {
      await other.stop();
    }
  });

  it("is told by a 504 not to repeat what would run again", async () => {
    const impatient = await startGateways(gateways(t.upstream.port), { SYNC_LIMIT: "1s" });
    try {
      for (const [headers, told] of [
        [{}, "false"],
        [{ "X-Request-Id": "mine" }, undefined],
        [{ "Idempotency-Key": "mine" }, undefined],
      ] as const) {
        const { path, sent } = held();
        const answer = await impatient.send(`/v1/gateway/usual${path}`, { method: "POST", headers });
        expect(answer.status).to.equal(504);
        expect(answer.headers["x-should-retry"]).to.equal(told);
        (await sent).write(OK);
        await impatient.until(String(answer.headers["x-request-id"]), "succeeded");
      }
    } finally {
      await impatient.stop();
    }
  });

  it("may be treated in one of two ways", () => {
    const define = () =>
      defineGateway({ queue: "q", target: "http://127.0.0.1", hangUpCancels: "yes" as unknown as boolean });
    expect(define).to.throw(TypeError, /^gateway of queue "q": hangUpCancels is "yes", expected true or false/);
  });
});
