import { expect } from "chai";
import type { Scope } from "../../../src/auth/api-key.ts";
import { keyAccess, mayEnd, maySee, openAccess } from "../../../src/http/task/access.ts";

const access = (name: string, ...scopes: Scope[]) =>
  keyAccess({ name, scopes: new Set(scopes), hash: Buffer.alloc(32) }, true);

describe("the access of a key to tasks", () => {
  const mine = { id: "a", caller: "ci", createdMs: 1 };
  const others = { id: "b", caller: "ops", createdMs: 1 };
  const nobodys = { id: "c", caller: null, createdMs: 1 };
  const seen = (by: ReturnType<typeof access>) => [mine, others, nobodys].map((task) => maySee(by, task));
  const ended = (by: ReturnType<typeof access>) => [mine, others, nobodys].map((task) => mayEnd(by, task));

  it("submit: its own tasks, to read and to cancel", () => {
    expect(seen(access("ci", "submit"))).to.deep.equal([true, false, false]);
    expect(ended(access("ci", "submit"))).to.deep.equal([true, false, false]);
  });

  it("read: all tasks, only to read", () => {
    expect(seen(access("ci", "read"))).to.deep.equal([true, true, true]);
    expect(ended(access("ci", "read"))).to.deep.equal([false, false, false]);
  });

  it("admin: all tasks, for everything", () => {
    expect(seen(access("x", "admin"))).to.deep.equal([true, true, true]);
    expect(ended(access("x", "admin"))).to.deep.equal([true, true, true]);
  });

  it("work: none, not even those submitted under its name", () => {
    expect(seen(access("ci", "work"))).to.deep.equal([false, false, false]);
    expect(ended(access("ci", "work"))).to.deep.equal([false, false, false]);
  });

  it("no key: none if there are keys, all if there are none", () => {
    expect(seen(keyAccess(undefined, false))).to.deep.equal([false, false, false]);
    expect(seen(openAccess())).to.deep.equal([true, true, true]);
    expect(ended(openAccess())).to.deep.equal([true, true, true]);
  });
});
