import { expect } from "chai";
import type { Scope } from "../../../src/auth/api-key.ts";
import { LinkSigner } from "../../../src/auth/link-signer.ts";
import {
  type Access,
  hasScope,
  keepsPresent,
  keyAccess,
  mayEnd,
  maySee,
  openAccess,
  type ShownLink,
  signatureOf,
} from "../../../src/http/task/access.ts";

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

describe("the access to a route", () => {
  const none = keyAccess(undefined, false);

  it("is everyone's if it needs no scope", () => {
    expect([none, access("ci", "work"), openAccess()].map((by) => hasScope(by, "none"))).to.deep.equal([
      true,
      true,
      true,
    ]);
  });

  it("is that of every valid key if it needs any", () => {
    const all = [access("ci", "work"), openAccess(), none, keyAccess(undefined, true)];
    expect(all.map((by) => hasScope(by, "any"))).to.deep.equal([true, true, false, false]);
  });

  it("needs one of its scopes, all of which an admin has", () => {
    const all = [access("ci", "read"), access("ci", "work"), access("x", "admin"), none];
    expect(all.map((by) => hasScope(by, ["submit", "read"]))).to.deep.equal([true, false, true, false]);
  });
});

describe("a signed link", () => {
  const task = { id: "a", caller: "ann", createdMs: 1 };
  const other = { id: "b", caller: "ann", createdMs: 1 };
  const signer = new LinkSigner("more than sixteen characters", 60_000, () => 0);
  const link: ShownLink = {
    kind: "task",
    id: "a",
    query: "?shown",
    opens: ({ id }) => id === "a",
    otherwise: undefined,
  };
  const keyOf = (name: string, scopes: readonly Scope[], by?: LinkSigner) =>
    keyAccess({ name, scopes: new Set(scopes), hash: Buffer.alloc(32) }, true, by);
  const signed = (by: Access, of = task) => signatureOf({ state: { access: by } }, of);

  it("opens its task, and no other", () => {
    const holder = { ...keyAccess(undefined, false), link };
    expect([task, other].map((of) => maySee(holder, of))).to.deep.equal([true, false]);
    expect([task, other].map((of) => mayEnd(holder, of))).to.deep.equal([false, false]);
  });

  it("is new for callers who may see the task without one, and unchanged for others", () => {
    for (const by of [keyOf("ann", ["submit"], signer), keyOf("ops", ["read"], signer)]) {
      expect(signed({ ...by, link })).to.equal(signer.sign("task", task));
    }
    const holder = { ...keyOf("bob", ["submit"], signer), link };
    expect(signed(holder)).to.equal("?shown");
    expect(signed(holder, other)).to.equal("");
    expect(signed(keyOf("bob", ["submit"], signer))).to.equal("");
    expect(signed(keyOf("ann", ["submit"]))).to.equal("");
  });

  it("keeps a task with a presence, as its caller does; operators do not", () => {
    const holder = { ...keyOf("bob", ["read"]), link };
    const all = [holder, keyOf("ann", ["submit"]), openAccess(), keyOf("ops", ["read"]), keyOf("x", ["admin"])];
    expect(all.map((by) => keepsPresent(by, task))).to.deep.equal([true, true, true, false, false]);
    expect(keepsPresent(holder, other)).to.equal(false);
    expect(keepsPresent({ ...openAccess(), dashboard: true }, task)).to.equal(false);
  });
});
