import { expect } from "chai";
import { isId, isQueueName } from "../src/task.ts";

describe("the id of a task", () => {
  it("is 1–128 characters A–Z a–z 0–9 . _ ~ -, the first a letter or digit", () => {
    for (const id of ["a", "0", "Z9", "a._~-", "0198c0de-0000-7000-8000-000000000000", "x".repeat(128)]) {
      expect(isId(id), id).to.equal(true);
    }
  });

  it("is nothing that could mean more than itself in a path, a header or a key", () => {
    const none = [
      "",
      "x".repeat(129),
      ".",
      "..",
      "-a",
      "_a",
      "~a",
      "a/b",
      "a b",
      "a:b",
      "a{b}",
      "a%2F",
      "ä",
      "a\n",
      "a\0",
    ];
    for (const id of [...none, "__proto__"]) expect(isId(id), JSON.stringify(id)).to.equal(false);
  });
});

describe("the name of a queue", () => {
  it("is 1–64 characters a–z 0–9 . _ -, the first a letter or digit", () => {
    for (const name of ["default", "a", "9", "image.resize_v2-b", "x".repeat(64)]) {
      expect(isQueueName(name), name).to.equal(true);
    }
  });

  it("has no capitals, no separators of keys or paths and no end of line", () => {
    const none = ["", "x".repeat(65), "Default", ".a", "-a", "_a", "a:b", "a/b", "a~b", "{a}", "a b", "a\n", "\na"];
    for (const name of none) expect(isQueueName(name), JSON.stringify(name)).to.equal(false);
  });
});
