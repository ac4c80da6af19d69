import { expect } from "chai";
import { eventually } from "../shared/eventually.ts";
import { call, collect, put, statusOf } from "./api.ts";
import type { HandlerNote } from "./fleet.ts";
import type { RunBy } from "./handlers.ts";

/** What a case has: two APIs, of the same or different releases, and who runs its tasks. */
export interface Sides {
  /** The API that takes the submission. */
  readonly api: string;
  /** The one at which everything else is asked. */
  readonly other: string;
  readonly runBy: RunBy;
  /** Part of every id. */
  readonly name: string;
  readonly entries: () => readonly HandlerNote[];
}

const JSON_LINES = { "Content-Type": "application/x-ndjson" };

/** What callers and workers do, each with a submission to one release that is observed at the other. */
export const CASES: Readonly<Record<string, (sides: Sides) => Promise<unknown>>> = {
  "a synchronous request": async ({ api, runBy, name }) => {
    const headers = { Prefer: "wait=20", "X-Request-Id": `${name}-sync` };
    const answer = await call(`${api}/v1/queues/work.${runBy}/requests`, { method: "POST", body: { ms: 20 }, headers });
    expect([answer.status, answer.json]).to.deep.equal([200, { id: `${name}-sync`, release: runBy }]);
  },
  "a result, and a repetition of the submission": async ({ api, other, runBy, name }) => {
    const id = `${name}-replay`;
    expect((await put(api, `work.${runBy}`, id, { ms: 20 })).status).to.equal(202);
    expect((await collect(other, id)).json).to.deep.equal({ id, release: runBy });
    const again = await put(other, `work.${runBy}`, id, { ms: 20 });
    expect([again.status, again.headers.get("idempotent-replayed")]).to.deep.equal([200, "true"]);
    expect((await put(other, `work.${runBy}`, id, { ms: 21 })).status).to.equal(409);
  },
  "inputs and results of every length": async ({ api, other, runBy, name }) => {
    await Promise.all(
      [0, 40, 100, 250, 300, 3000, 20_000, 200_000].map(async (length) => {
        const id = `${name}-echo-${length}`;
        const text = "zähl ".repeat(length / 5);
        expect((await put(api, `echo.${runBy}`, id, { text })).status).to.equal(202);
        expect((await collect(other, id)).json).to.deep.equal({ text });
      }),
    );
  },
  "attempts and steps": async ({ api, other, runBy, name, entries }) => {
    const id = `${name}-flaky`;
    await put(api, `flaky.${runBy}`, id, {});
    expect((await collect(other, id)).status).to.equal(200);
    expect((await statusOf(other, id)).attempt).to.equal(3);
    expect(entries().filter((entry) => entry.id === id && entry.what === "step")).to.have.length(1);
  },
  "a dead task, retried": async ({ api, other, runBy, name, entries }) => {
    const id = `${name}-dead`;
    await put(api, `dead.${runBy}`, id, {});
    expect((await collect(other, id)).status).to.equal(500);
    expect((await call(`${other}/v1/requests/${id}/retry`, { method: "POST" })).status).to.equal(202);
    await eventually(async () => {
      expect(entries().filter((entry) => entry.id === id)).to.have.length(2);
      expect((await statusOf(other, id)).state).to.equal("failed");
    });
    const { json } = await call(`${other}/v1/queues/dead.${runBy}/dead?limit=100`);
    expect(JSON.stringify(json)).to.include(`"${id}"`);
  },
  "an undo": async ({ api, other, name, entries }) => {
    const id = `${name}-trip`;
    await put(api, "trip.both", id, {});
    expect((await collect(other, id)).status).to.equal(422);
    await eventually(() => entries().some((entry) => entry.id === id && entry.what === "undone"));
  },
  output: async ({ api, other, runBy, name }) => {
    const id = `${name}-talk`;
    await put(api, `talk.${runBy}`, id, {});
    const { text } = await call(`${other}/v1/requests/${id}/output`);
    const values = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(values.map(({ seq, data }) => [seq, data])).to.deep.equal([
      [0, "take"],
      [1, "a"],
      [2, "number"],
    ]);
  },
  events: async ({ api, other, runBy, name }) => {
    const id = `${name}-events`;
    await put(api, `work.${runBy}`, id, { ms: 100 }, "?delay=0.3");
    const { text } = await call(`${other}/v1/requests/${id}/events`, { headers: { Accept: "text/event-stream" } });
    expect(text)
      .to.match(/^event: done$/m)
      .and.include('"state":"succeeded"');
  },
  "the cancel of a running task": async ({ api, other, runBy, name, entries }) => {
    const id = `${name}-slow`;
    await put(api, `slow.${runBy}`, id, {});
    await eventually(() => entries().some((entry) => entry.id === id && entry.what === "begins"));
    await call(`${other}/v1/requests/${id}`, { method: "DELETE" });
    await eventually(() => entries().some((entry) => entry.id === id && entry.what === "signal"));
    await eventually(async () => (await statusOf(other, id)).state === "canceled");
  },
  "a scheduled task, replaced and canceled": async ({ api, other, runBy, name }) => {
    const id = `${name}-later`;
    await put(api, `work.${runBy}`, id, { ms: 1 }, "?delay=600");
    expect((await put(other, `work.${runBy}`, id, { ms: 2 }, "?delay=600")).status).to.equal(200);
    expect((await call(`${api}/v1/requests/${id}`, { method: "DELETE" })).status).to.be.within(200, 204);
    expect((await statusOf(other, id)).state).to.equal("canceled");
  },
  "a deadline": async ({ api, other, runBy, name }) => {
    const id = `${name}-deadline`;
    await put(api, `slow.${runBy}`, id, {}, "?deadline=1");
    await eventually(async () => (await statusOf(other, id)).state === "canceled");
    expect((await collect(other, id)).json).to.include({ reason: "deadline" });
  },
  "a batch": async ({ api, other, runBy, name }) => {
    const ids = [1, 2, 3, 4, 5].map((n) => `${name}-batch-${n}`);
    const body = ids.map((id) => JSON.stringify({ id, input: { ms: 1 } })).join("\n");
    const path = `/v1/queues/work.${runBy}/batches?envelope=true`;
    const answer = await call(`${api}${path}`, { method: "POST", body, headers: JSON_LINES });
    expect(answer.status).to.equal(202);
    for (const id of ids) expect((await collect(other, id)).json).to.include({ id });
  },
  "a worker over HTTP": async ({ api, other, name }) => {
    await put(api, "work.nobody", `${name}-remote`, { ms: 1 });
    // Of several such cases each may take the task of another.
    const take = { method: "POST", body: { worker: name, count: 1 }, headers: { Prefer: "wait=10" } };
    const { json } = await call(`${other}/v1/queues/work.nobody/leases`, take);
    const [{ id: taken, fence }] = json.items;
    await call(`${api}/v1/leases/${taken}/renew`, { method: "POST", body: { fence } });
    const done = await call(`${other}/v1/leases/${taken}/complete`, {
      method: "POST",
      body: { fence, result: { by: "hand" } },
    });
    expect(done.json).to.deep.equal({ id: taken, verdict: "done" });
    expect((await collect(api, taken)).json).to.deep.equal({ by: "hand" });
  },
};
