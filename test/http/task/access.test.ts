import { expect } from "chai";
import type { Scope } from "../../../src/auth/api-key.ts";
import { LinkSigner } from "../../../src/auth/link-signer.ts";
import { type Access, keyAccess, mayEnd, maySee, openAccess, signatureOf } from "../../../src/http/task/access.ts";

const signer = new LinkSigner("more than sixteen characters", 60_000, () => 0);
const of = (name: string, ...scopes: Scope[]) =>
  keyAccess({ name, scopes: new Set(scopes), hash: Buffer.alloc(32) }, true, signer);
const link = { kind: "task", id: "a", query: "?shown", otherwise: undefined } as const;
const linked = (by: Access): Access => ({ ...by, link: { ...link, opens: ({ id }) => id === "a" } });

describe("the access of a key to tasks", () => {
  const TASKS = [
    { id: "a", caller: "ci", createdMs: 1 },
    { id: "b", caller: "ops", createdMs: 1 },
    { id: "c", caller: null, createdMs: 1 },
  ];
  const NONE = [false, false, false];
  const ALL = [true, true, true];
  for (const [whose, access, seen, ended] of [
    ["submit: its own", of("ci", "submit"), [true, false, false], [true, false, false]],
    ["read: all, only to read", of("ci", "read"), ALL, NONE],
    ["admin: all", of("x", "admin"), ALL, ALL],
    ["work: none, not even those submitted under its name", of("ci", "work"), NONE, NONE],
    ["no key where there are keys: none", keyAccess(undefined, false), NONE, NONE],
    ["no keys: all", openAccess(), ALL, ALL],
    ["a link: its task, to read", linked(keyAccess(undefined, false)), [true, false, false], NONE],
  ] as const) {
    it(whose, () => {
      expect(TASKS.map((task) => maySee(access, task))).to.deep.equal(seen);
      expect(TASKS.map((task) => mayEnd(access, task))).to.deep.equal(ended);
    });
  }

  it("has new links for those who see a task without one; others get back that of the task, and none for another", () => {
    const signed = (access: Access) => TASKS.map((task) => signatureOf({ state: { access } }, task));
    expect(signed(linked(of("x", "read")))).to.deep.equal(TASKS.map((task) => signer.sign("task", task)));
    expect(signed(linked(of("bob", "submit")))).to.deep.equal(["?shown", "", ""]);
    expect(signed(of("bob", "submit"))).to.deep.equal(["", "", ""]);
  });
});
