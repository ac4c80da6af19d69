import { expect } from "chai";
import fc from "fast-check";
import { LineSplitter } from "../../../src/http/batches/split-lines.ts";

const BOUNDS = { lineBytes: 1000, bytes: 100_000, lines: 1000 };

/** All lines of some chunks, null for those that are refused, and the number at which it was too much. */
function split(chunks: readonly Buffer[], bounds = BOUNDS) {
  const lines: [number, string | null][] = [];
  const splitter = new LineSplitter(bounds);
  for (const [n, chunk] of chunks.entries()) {
    for (const { number, bytes } of splitter.take(chunk, n === chunks.length - 1)) {
      if (splitter.isFull) return { lines, tooMuch: number };
      lines.push([number, typeof bytes === "string" ? null : bytes.toString()]);
    }
  }
  return { lines };
}

/** Cuts a body at these places, each counted from the one before. */
function cut(body: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let rest = body;
  for (const size of sizes) {
    chunks.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  return [...chunks, rest];
}

describe("the lines of a body", () => {
  it("are the same wherever the chunks are cut, for any text", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "ü", "世", "🎫", "\n", "\r\n", " ", '"'), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(9)), (body, sizes) => {
        const expected = body
          .split("\n")
          .map((line, number): [number, string] => [number, line.replace(/\r$/, "")])
          .filter(([, line]) => line.trim() !== "");
        expect(split(cut(Buffer.from(body), sizes))).to.deep.equal({ lines: expected });
      }),
    );
  });

  it("begin after a byte-order mark, of which there is one", () => {
    for (const [body, lines] of [
      [
        "\ufeff1\n\ufeff2",
        [
          [0, "1"],
          [1, "\ufeff2"],
        ],
      ],
      ["\ufeff\r\n2", [[1, "2"]]],
      ["\ufeff", []],
    ] as const)
      for (const sizes of [[], [1, 1, 1]]) expect(split(cut(Buffer.from(body), sizes)).lines).to.deep.equal(lines);
  });

  it("are refused if they are too long, not counting the line end", () => {
    const bounds = { ...BOUNDS, lineBytes: 3 };
    for (const sizes of [[], [1, 1, 1, 1, 1, 1, 1, 1]]) {
      const chunks = cut(Buffer.from("abc\r\nabcd\nabc\nabcd\r\nabcdefgh\nabc"), sizes);
      expect(split(chunks, bounds).lines.map(([, line]) => line)).to.deep.equal([
        "abc",
        null,
        "abc",
        null,
        null,
        "abc",
      ]);
    }
  });

  it("end at the limit of lines or bytes", () => {
    const body = [Buffer.from("a\nb\nc\n")];
    expect(split(body, { ...BOUNDS, lines: 3 })).to.not.have.property("tooMuch");
    expect(split(body, { ...BOUNDS, lines: 2 })).to.deep.include({ tooMuch: 2 });
    expect(split(body, { ...BOUNDS, bytes: 6 })).to.not.have.property("tooMuch");
    expect(split([...body, Buffer.from("d")], { ...BOUNDS, bytes: 6 })).to.deep.include({ tooMuch: 3 });
  });
});
