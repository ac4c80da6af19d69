import { expect } from "chai";
import { Keys } from "../../src/store/keys.ts";

describe("the partition of a task", () => {
  it("is always the same, in every process and release", () => {
    const keys = new Keys("ph", 16);
    const known = { a: 12, task: 12, "01JD8Z": 2 };
    expect(Object.fromEntries(Object.keys(known).map((id) => [id, keys.partitionOf(id)]))).to.deep.equal(known);
    expect(new Keys("ph", 1).partitionOf("task")).to.equal(0);
  });

  it("is also that of the tasks that follow from it", () => {
    const keys = new Keys("ph", 1000);
    expect(keys.partitionOf("task:undo:jobs")).to.equal(keys.partitionOf("task"));
    expect(keys.partitionOf("task:webhook")).to.equal(keys.partitionOf("task"));
    expect(keys.partitionOf("tusk")).to.not.equal(keys.partitionOf("task"));
  });

  it("has a tag, which a partition that does not exist has not", () => {
    const keys = new Keys("ph", 2);
    expect(keys.tags).to.deep.equal(["{ph:0}", "{ph:1}"]);
    expect(keys.tag(1)).to.equal("{ph:1}");
    expect(() => keys.tag(2)).to.throw(RangeError);
  });

  it("is in each key and channel of what it has, which differ by kind and name", () => {
    const keys = new Keys("ph", 2);
    const made = [
      ...["a", "b"].flatMap((queue) => [keys.workChannel(1, queue), keys.noticeChannel(1, queue)]),
      ...["a", "b"].flatMap((queue) => [
        keys.index(keys.tag(1), "waiting", queue),
        keys.index(keys.tag(1), "leases", queue),
      ]),
      ...["a", "b"].flatMap((id) => [keys.value("result", 1, id), keys.value("input", 1, id)]),
    ];
    expect(new Set(made).size).to.equal(made.length);
    for (const [n, key] of made.entries()) expect(key).to.match(n % 4 < 2 ? /^\{ph:1\}.+a$/ : /^\{ph:1\}.+b$/);
  });
});
