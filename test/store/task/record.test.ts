import { expect } from "chai";
import { SHARED } from "../../../src/store/constants.ts";
import { decodeResult, encodeResult, hasHead, runOf, workerEnd } from "../../../src/store/task/record.ts";
import type { Answer } from "../../../src/task.ts";

describe("the record of the last run of a task", () => {
  /** A fence that was given then, after another one in the same millisecond. */
  const fenceAt = (ms: number) => (ms - SHARED.epochMs) * 10 ** SHARED.fenceDigits + 1;
  const MS = SHARED.epochMs + 5_000_000;

  it("has when it began, which may be later than its fence, its attempts and its worker", () => {
    expect(runOf(`${fenceAt(MS)} 0 2 7 host:1`)).to.deep.equal({ attempts: 2, startedMs: MS, worker: "host:1" });
    expect(runOf(`${fenceAt(MS)} 250 1 7 w`).startedMs).to.equal(MS + 250);
  });

  it("has no beginning if the task was never reserved, or was handed back", () => {
    expect(runOf("")).to.deep.equal({ attempts: 0, startedMs: null, worker: "" });
    expect(runOf(`${fenceAt(MS)} - 1 7`)).to.deep.equal({ attempts: 1, startedMs: null, worker: "" });
  });

  it("has the end of a long name of a worker, which tells it from others of its host", () => {
    expect(workerEnd("w1")).to.equal("w1");
    const name = `${"h".repeat(100)}:1:end`;
    expect(workerEnd(name)).to.equal(name.slice(-SHARED.workerBytes));
  });
});

const answer = (of: Partial<Answer> = {}): Answer => ({
  ...{ status: 200, contentType: "application/json", headers: {}, body: "1" },
  ...of,
});
const stored = (result: Answer) => Buffer.from(encodeResult(result));

describe("the stored form of a result", () => {
  it("gives back what was written", () => {
    for (const of of [
      ...[{}, { status: 201 }, { contentType: "text/plain" }, { contentType: null }, { headers: { etag: '"1"' } }],
      ...[{ body: "" }, { body: "two\nlines" }, { status: 204, contentType: null, body: "" }],
      { status: 599, contentType: "text/html", headers: { a: "1", b: "2" } },
    ]) {
      const { body, ...head } = decodeResult(stored(answer(of)));
      expect({ ...head, body: body.toString() }, JSON.stringify(of)).to.deep.equal(answer(of));
    }
    const bytes = Buffer.from([0, 10, 255]);
    expect(decodeResult(stored(answer({ body: bytes }))).body).to.deep.equal(bytes);
  });

  it("has no head if the result is as usual", () => {
    expect(encodeResult(answer())).to.equal("\n1");
  });

  it("is shown as bytes with status 500 if it cannot be read", () => {
    for (const text of [
      ...["no line break", "{\n1", "null\n1", "7\n1", "{}\n1", '{"s":"200"}\n1', '{"s":200.5}\n1', '{"s":199}\n1'],
      ...[
        '{"s":600}\n1',
        '{"s":200,"t":1}\n1',
        '{"s":200,"h":1}\n1',
        '{"s":200,"h":null}\n1',
        '{"s":200,"h":{"a":1}}\n1',
      ],
    ]) {
      const { body, ...head } = decodeResult(Buffer.from(text));
      expect(head, text).to.deep.equal({ status: 500, contentType: "application/octet-stream", headers: {} });
      expect(body.toString()).to.equal(text);
    }
    expect(decodeResult(Buffer.from('{"s":599}\n1'))).to.include({ status: 599, contentType: null });
  });

  it("begins with the whole head only if some of the body follows", () => {
    expect(hasHead(Buffer.from('{"s":201'))).to.equal(false);
    expect(hasHead(Buffer.from('{"s":201}\n'))).to.equal(false);
    expect(hasHead(Buffer.from('{"s":201}\n1'))).to.equal(true);
  });
});
