import { expect } from "chai";
import type { Context } from "koa";
import type { Scope } from "../../../src/auth/api-key.ts";
import type { Inspection, InspectOptions } from "../../../src/engine/watch/inspect.ts";
import type { Api } from "../../../src/http/api.ts";
import { type Access, openAccess } from "../../../src/http/request/access.ts";
import { findTask, observe, observeEnd } from "../../../src/http/task/find.ts";

const TASK = { id: "a", queue: "jobs", caller: "ann", state: "running", deleted: false, expired: false };

describe("the task that a request is about", () => {
  const accessWith = (caller: string | null, scopes: readonly Scope[], more: Partial<Access> = {}): Access => ({
    ...openAccess(),
    ...{ key: "valid", caller, scopes: new Set(scopes), ...more },
  });
  const OPERATOR = accessWith("boss", ["read"]);

  /** Looks for tasks with this access; records the looks. */
  const open = (access: Access, task: object | null = TASK) => {
    const looks: [id: string, options: InspectOptions][] = [];
    const inspect = async (id: string, options: InspectOptions) => {
      looks.push([id, options]);
      return task && { ...task, result: options.result ? "read" : null };
    };
    const ctx = { state: { access } } as unknown as Context;
    const api = { engine: { inspector: { inspect } } } as unknown as Api;
    const thrownBy = (work: Promise<unknown>) =>
      work.then(
        () => "found",
        (error: unknown) => error,
      );
    return { ctx, api, looks, thrownBy };
  };

  it("is found for those who may see it, and is unknown to all others after the same look", async () => {
    const look = { result: true, inPieces: true };
    for (const [access, isFound] of [
      [OPERATOR, true],
      [accessWith("ann", ["submit"]), true],
      [accessWith("bob", ["submit"]), false],
    ] as const) {
      const { ctx, api, looks, thrownBy } = open(access);
      const outcome = await thrownBy(findTask(ctx, api, "a", look));
      if (isFound) expect(outcome).to.equal("found");
      else
        expect(outcome)
          .to.include({ code: "unknown" })
          .and.deep.include({ extensions: { id: "a", index: null } });
      const [[id, options] = []] = looks;
      expect([id, options?.result, options?.inPieces]).to.deep.equal(["a", true, true]);
      expect(options?.allowed?.(TASK as Inspection)).to.equal(isFound);
      const isKept = access.caller === "ann";
      expect(options?.attends?.(TASK as Inspection), "whether the look keeps it present").to.equal(isKept);
    }
  });

  it("is looked for only under an id, or, for operators, under that of a task that follows from another", async () => {
    const isLookedFor = async (access: Access, id: string) => {
      const { ctx, api, looks, thrownBy } = open(access);
      await thrownBy(findTask(ctx, api, id, { result: false }));
      return looks.length === 1;
    };
    const followers = ["a:webhook:1", "a:undo:jobs"];
    for (const id of ["a", ...followers]) expect(await isLookedFor(OPERATOR, id), id).to.equal(true);
    for (const id of ["", "a b", "a:webhook", "a:undo:", "a:other:1", ":undo:jobs", "a b:undo:jobs", "a:undo:jobs:x y"])
      expect(await isLookedFor(OPERATOR, id), id).to.equal(false);
    for (const id of followers) expect(await isLookedFor(accessWith("ann", ["submit"]), id), id).to.equal(false);
  });

  it("is still shown as it was if it is gone at the second look", async () => {
    for (const [state, look] of [
      ["failed", observe],
      ["succeeded", observeEnd],
    ] as const) {
      const { ctx, api } = open(OPERATOR, { ...TASK, state });
      const { inspect } = api.engine.inspector;
      api.engine.inspector.inspect = async (id, options) => (options.result ? null : inspect(id, options));
      expect(await look(ctx, api, "a")).to.include({ id: "a", state, result: null });
    }
  });
});
