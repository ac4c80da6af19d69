import { expect } from "chai";
import { type Notice, noticesOf } from "../../../src/store/task/notices.ts";

/** As task/notices.lua writes several into one message. */
const message = (...notices: string[]) =>
  Buffer.from(notices.map((notice) => `${Buffer.byteLength(notice)} ${notice}`).join(""));
const read = (bytes: Buffer): Notice[] => [...noticesOf(bytes)];

describe("a message of notices", () => {
  it("says which tasks have changed, ended or have new output", () => {
    const none = { ended: false, output: false, end: null };
    expect(read(message("r one", "s two", "f three", "c four", "g five", "p six", "o seven"))).to.deep.equal([
      { ...none, id: "one" },
      ...["two", "three", "four", "five"].map((id) => ({ ...none, id, ended: true })),
      ...[
        { ...none, id: "six" },
        { ...none, id: "seven", output: true },
      ],
    ]);
  });

  it("has the facts of an end, with the result in any bytes if it has one", () => {
    const end = { state: "succeeded", finishedMs: 10, expiresMs: 20, attempts: 3 };
    expect(read(message("s one 10 20 3", "s two 10 20 3\n{}\nä 5 s"))).to.deep.equal([
      { id: "one", ended: true, output: false, end: { ...end, result: null } },
      { id: "two", ended: true, output: false, end: { ...end, result: Buffer.from("{}\nä 5 s") } },
    ]);
  });

  it("is ignored from where it is not one of ours", () => {
    for (const foreign of ["hello", "hello world", "0 r one", "-5 r one", "1.5 r one", " r one"])
      expect(read(Buffer.from(foreign)), foreign).to.deep.equal([]);
    expect(read(Buffer.from("5 r onehello world")).map(({ id }) => id)).to.deep.equal(["one"]);
  });
});
