import { expect } from "chai";
import { RESULT_LIMIT } from "../../../src/engine/tasks/result.ts";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import { type EventSubject, eventBody } from "../../../src/extras/webhooks/event.ts";
import type { Result } from "../../../src/task.ts";

const ENDED_MS = Date.UTC(2030, 0, 31, 12);
const END: EventSubject = { id: "a", state: "succeeded" };

/** Only what an event looks at. */
const seenWith = (part: Partial<Inspection>): Inspection =>
  ({ id: "a", queue: "jobs", state: "succeeded", finishedMs: ENDED_MS, result: null, ...part }) as Inspection;

const jsonResult = (text: string, contentType: string | null = "application/json"): Result => ({
  status: 200,
  contentType,
  headers: {},
  body: Buffer.from(text),
});

const describeTask = ({ id, state }: Inspection) => ({ id, state, links: [] });
const bodyOf = (end: Partial<EventSubject>, seen: Inspection | null) =>
  eventBody({ ...END, ...end }, ENDED_MS, seen, describeTask);
const withResult = (result: Result | null) => JSON.parse(bodyOf({}, seenWith({ result })));

describe("the body of an event", () => {
  it("is { type, timestamp, data } with the task's document as data", () => {
    expect(withResult(null)).to.deep.equal({
      type: "task.succeeded",
      timestamp: "2030-01-31T12:00:00.000Z",
      data: { id: "a", state: "succeeded", links: [] },
    });
  });

  it("has the result in its data if that is JSON", () => {
    expect(withResult(jsonResult('{"sum":3}')).data.result).to.deep.equal({ sum: 3 });
    expect(withResult(jsonResult("[1]", "application/geo+json; charset=utf-8")).data.result).to.deep.equal([1]);
    expect(withResult(jsonResult("[1]", "model/gltf+json")).data.result).to.deep.equal([1]);
    expect(withResult(jsonResult("[1]", "application/json-seq")).data).not.to.have.property("result");
    expect(withResult(jsonResult("null")).data).to.have.property("result", null);
  });

  it("contains the result verbatim, including numbers of any length", () => {
    expect(bodyOf({}, seenWith({ result: jsonResult('{"n":12345678901234567890.10}') }))).to.include(
      '"result":{"n":12345678901234567890.10}}}',
    );
  });

  it("leaves out a result that reaches the limit", () => {
    const ofLength = (length: number) => jsonResult(JSON.stringify("x".repeat(length - 2)));
    expect(withResult(ofLength(RESULT_LIMIT - 1)).data.result).to.have.length(RESULT_LIMIT - 3);
    expect(withResult(ofLength(RESULT_LIMIT)).data).not.to.have.property("result");
  });

  it("leaves out a result that is not JSON, or only claims to be", () => {
    for (const result of [
      jsonResult("plain", "text/plain"),
      jsonResult("", null),
      jsonResult("{not json"),
      jsonResult("{}", "text/html; application/json"),
      { ...jsonResult(""), body: Buffer.from([0x22, 0xff, 0x22]) },
    ]) {
      expect(withResult(result).data, result.body.toString()).not.to.have.property("result");
    }
  });

  it("reports only the outcome if the task has been retried since, or is gone", () => {
    const thin = { id: "a", queue: "jobs", state: "failed", status: "failed" };
    for (const seen of [
      seenWith({ state: "waiting", finishedMs: null }),
      seenWith({ state: "failed", finishedMs: 1 }),
    ]) {
      expect(JSON.parse(bodyOf({ state: "failed" }, seen)).data).to.deep.equal(thin);
    }
    expect(JSON.parse(bodyOf({ state: "failed" }, null)).data).to.deep.equal({
      id: "a",
      state: "failed",
      status: "failed",
    });
  });
});
