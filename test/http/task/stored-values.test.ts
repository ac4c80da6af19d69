import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import type { Context } from "koa";
import { bodyLength, setBody } from "../../../src/http/task/result-body.ts";
import { storedInput } from "../../../src/http/task/stored-input.ts";
import type { Body } from "../../../src/task.ts";

describe("a stored body in an answer", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const short: Body = { body: bytes("xx é").subarray(3) };
  const long: Body = {
    body: bytes("é1"),
    rest: {
      bytes: 4,
      pieces: async function* () {
        yield Buffer.from("23");
        yield Buffer.from("é");
      },
    } as unknown as NonNullable<Body["rest"]>,
  };
  const answered = async (stored: Body, ...around: string[]) => {
    const ctx = {} as Context;
    setBody(ctx, stored, ...around);
    const { body, length } = ctx as unknown as { body: string | Buffer | Readable; length: number | undefined };
    const sent = typeof body === "string" || Buffer.isBuffer(body) ? Buffer.from(body) : await buffer(body);
    if (stored.rest) expect(length).to.equal(sent.length);
    return sent.toString();
  };

  it("is as long as all of it, even if only its beginning was read", () => {
    expect([bodyLength(short), bodyLength(long)]).to.deep.equal([2, 7]);
  });

  it("is sent as it is stored, with the text around it", async () => {
    expect(await answered(short)).to.equal("é");
    expect(await answered(short, '{"é":', "}")).to.equal('{"é":é}');
    expect(await answered(long)).to.equal("é123é");
    expect(await answered(long, '{"é":', "}é")).to.equal('{"é":é123é}é');
  });
});

describe("the stored input of a task", () => {
  const read = (details: object | null) => storedInput({ engine: { call: async () => details } } as never, "a", "jobs");
  const common = { mediaType: "text/plain", query: "" };

  it("is none once it is no longer kept", async () => {
    expect(await read(null)).to.equal(null);
    expect(await read({ ...common, input: null })).to.equal(null);
  });

  it("is the input, or its length if it is long, with the parameters for the handler", async () => {
    const input = Buffer.from("1");
    const known = { id: "a", mediaType: "text/plain", query: {} };
    expect(await read({ ...common, input })).to.deep.equal({ ...known, input, inputBytes: 0 });
    const long = await read({ ...common, input: 70_000, query: '{"size":"1"}' });
    expect(long).to.deep.equal({ ...known, input: null, inputBytes: 70_000, query: { size: "1" } });
  });
});
