import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { GrowingBuffer } from "../../src/net/growing-buffer.ts";
import { BodyTooLong, readLimited } from "../../src/net/read-limited.ts";

describe("a body that is read up to a limit", () => {
  function signal() {
    let give = (): void => undefined;
    const promise = new Promise<void>((resolve) => {
      give = resolve;
    });
    return { promise, give: () => give() };
  }

  /** A stream of chunks that never ends, and says what became of it. */
  function endless(chunk: Uint8Array) {
    const canceled = signal();
    const seen = { pulled: 0, canceled: canceled.promise };
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        seen.pulled += 1;
        controller.enqueue(chunk);
      },
      cancel: canceled.give,
    });
    return { stream, seen };
  }

  it("is given whole when it is as long as it may be", async () => {
    const body = new Response("0123456789").body;
    assert.equal((await readLimited(body, { maxBytes: 10 })).toString(), "0123456789");
    assert.equal((await readLimited(null, { maxBytes: 10 })).length, 0);
  });

  it("is given whole however it is cut", async () => {
    const text = "taking a number, 排号".repeat(1000);
    const bytes = Buffer.from(text);
    const single = Readable.from([...bytes].map((byte) => Buffer.from([byte])));
    assert.equal((await readLimited(single, { maxBytes: bytes.length })).toString(), text);
  });

  it("is stopped at the limit, and its stream is canceled", async () => {
    const { stream, seen } = endless(new Uint8Array(1000));
    await assert.rejects(readLimited(stream, { maxBytes: 10_500 }), BodyTooLong);
    await seen.canceled;
    assert.ok(seen.pulled <= 13, `${seen.pulled} chunks were pulled`);
  });

  it("is stopped at the limit where the stream is one of Node's", async () => {
    const stream = new Readable({ read: () => stream.push(Buffer.alloc(1000)) });
    await assert.rejects(readLimited(stream, { maxBytes: 10_500 }), BodyTooLong);
    assert.equal(stream.destroyed, true);
  });

  it("is not waited for when its stream never says that it was canceled", async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1000)),
      cancel: () => new Promise(() => undefined),
    });
    await assert.rejects(readLimited(stream, { maxBytes: 10 }), BodyTooLong);
  });

  it("ends with the signal when nothing more comes", async () => {
    const canceled = signal();
    const stream = new ReadableStream<Uint8Array>({ cancel: canceled.give });
    const abort = new AbortController();
    const reading = readLimited(stream, { maxBytes: 10, signal: abort.signal });
    abort.abort(new Error("enough"));
    await assert.rejects(reading, /^Error: enough$/);
    await canceled.promise;
  });

  it("hands on what breaks the stream, and refuses chunks that are no bytes", async () => {
    const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("cut off")) });
    await assert.rejects(readLimited(broken, { maxBytes: 10 }), /^Error: cut off$/);
    await assert.rejects(readLimited(Readable.from(["text"]), { maxBytes: 10 }), TypeError);
  });
});

describe("a growing buffer", () => {
  it("hands on a single chunk without a copy, and copies several into one", () => {
    const buffer = new GrowingBuffer();
    const chunk = Buffer.from("one");
    buffer.append(chunk);
    assert.equal(buffer.take().buffer, chunk.buffer);
    buffer.append(Buffer.from("one"));
    buffer.append(Buffer.alloc(0));
    buffer.append(Buffer.from(", two"));
    assert.equal(buffer.length, 8);
    assert.equal(buffer.take().toString(), "one, two");
    assert.equal(buffer.length, 0);
    assert.equal(buffer.take().length, 0);
  });

  it("begins anew without touching what it has handed out", () => {
    const buffer = new GrowingBuffer();
    for (const text of ["a", "b"]) buffer.append(Buffer.from(text));
    const first = buffer.take();
    for (const text of ["c", "d"]) buffer.append(Buffer.from(text));
    assert.equal(`${first} ${buffer.take()}`, "ab cd");
  });
});
