import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { BodyTooLong, GrowingBuffer, readLimited } from "../../src/net/read-limited.ts";
import { keptMb } from "../helpers/heap.ts";

describe("a body that is read up to a limit", () => {
  function signal() {
    let give = (): void => undefined;
    const promise = new Promise<void>((resolve) => {
      give = resolve;
    });
    return { promise, give: () => give() };
  }

  /** An endless stream of chunks, which records how it ended. */
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

  it("is returned completely if it is exactly as long as allowed", async () => {
    const body = new Response("0123456789").body;
    assert.equal((await readLimited(body, { maxBytes: 10 })).toString(), "0123456789");
    assert.equal((await readLimited(null, { maxBytes: 10 })).length, 0);
  });

  it("is refused if it is a byte longer than allowed, in one chunk or in several", async () => {
    for (const chunks of [["0123456789a"], ["0123456789", "a"], ["0", "123456789a"]]) {
      const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
      await assert.rejects(readLimited(body, { maxBytes: 10 }), BodyTooLong);
    }
  });

  it("is returned completely, however it is split", async () => {
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

  it("is stopped at the limit if the stream is a Node stream", async () => {
    const stream = new Readable({ read: () => stream.push(Buffer.alloc(1000)) });
    await assert.rejects(readLimited(stream, { maxBytes: 10_500 }), BodyTooLong);
    assert.equal(stream.destroyed, true);
  });

  it("does not wait for a stream that never confirms its cancellation", async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1000)),
      cancel: () => new Promise(() => undefined),
    });
    await assert.rejects(readLimited(stream, { maxBytes: 10 }), BodyTooLong);
  });

  it("is in memory once while it is read", async () => {
    const kept: number[] = [];
    let pulled = 0;
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (pulled === 10 || pulled === 2000) kept.push(await keptMb());
        if (pulled === 2000) controller.close();
        else controller.enqueue(new Uint8Array(10_000));
        pulled += 1;
      },
    });
    await readLimited(stream, { maxBytes: 2 ** 25, signal: new AbortController().signal });
    const [early = 0, late = 0] = kept;
    // 20 MB have come, in a buffer that doubles.
    assert.ok(late - early < 34, `${kept.join(" MB, then ")} MB`);
  });

  it("ends at the signal if no more data arrives", async () => {
    const canceled = signal();
    const stream = new ReadableStream<Uint8Array>({ cancel: canceled.give });
    const abort = new AbortController();
    const reading = readLimited(stream, { maxBytes: 10, signal: abort.signal });
    abort.abort(new Error("enough"));
    await assert.rejects(reading, /^Error: enough$/);
    await canceled.promise;
  });

  it("does not begin if the signal has fired, and leaves no listener on it", async () => {
    const abort = new AbortController();
    const { signal } = abort;
    assert.equal((await readLimited(Readable.from([Buffer.from("a")]), { maxBytes: 10, signal })).toString(), "a");
    assert.equal(getEventListeners(signal, "abort").length, 0);
    abort.abort(new Error("enough"));
    const { stream, seen } = endless(new Uint8Array(1));
    await assert.rejects(readLimited(stream, { maxBytes: 10, signal }), /^Error: enough$/);
    await seen.canceled;
    const node = new Readable({ read: () => undefined });
    await assert.rejects(readLimited(node, { maxBytes: 10, signal }), /^Error: enough$/);
    assert.equal(node.destroyed, true);
  });

  it("passes on the error of the stream, and refuses chunks that are not bytes", async () => {
    const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("cut off")) });
    await assert.rejects(readLimited(broken, { maxBytes: 10 }), /^Error: cut off$/);
    for (const chunks of [["text"], ["te", "xt"]]) {
      await assert.rejects(readLimited(Readable.from(chunks), { maxBytes: 10 }), TypeError);
    }
  });
});

describe("a growing buffer", () => {
  it("returns a single chunk without copying, and joins several", () => {
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

  it("keeps only its own part of a chunk that lies in a larger memory", () => {
    const buffer = new GrowingBuffer();
    const memory = Buffer.from("one, two, three");
    buffer.append(memory.subarray(5, 8));
    assert.equal(buffer.take().toString(), "two");
    for (const part of [memory.subarray(5, 8), memory.subarray(3, 8)]) buffer.append(part);
    assert.equal(buffer.take().toString(), "two, two");
  });

  it("starts again without changing what it has returned", () => {
    const buffer = new GrowingBuffer();
    for (const text of ["a", "b"]) buffer.append(Buffer.from(text));
    const first = buffer.take();
    for (const text of ["c", "d"]) buffer.append(Buffer.from(text));
    assert.equal(`${first} ${buffer.take()}`, "ab cd");
  });
});
