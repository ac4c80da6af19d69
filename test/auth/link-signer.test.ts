import { createHmac } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import type { Scope } from "../../src/auth/api-key.ts";
import { LinkSigner } from "../../src/auth/link-signer.ts";
import { keyAccess, maySee, openAccess, signatureOf } from "../../src/http/task/access.ts";

const SECRET = "a secret of at least 16";
const NOW = 1_800_000_000_000;
const signer = (nowMs = NOW, secret = SECRET) => new LinkSigner(secret, 60_000, () => nowMs);
const A = { id: "a", createdMs: 1_700_000_000_000 };
const TASK = { ...A, id: "task-1" };
const parts = (query: string) => {
  const search = new URLSearchParams(query);
  return [search.get("expires") ?? "", search.get("signature") ?? ""] as const;
};

describe("a signed link", () => {
  it("has its expiry in Unix seconds and an HMAC-SHA256 in base64url", () => {
    const query = signer().sign("task", A);
    expect(query).to.match(/^\?expires=1800000060&signature=[A-Za-z0-9_-]{43}$/);
    const hmac = createHmac("sha256", SECRET)
      .update("paihao link 3\nread task\na\n1700000000000\n1800000060")
      .digest("base64url");
    expect(query).to.equal(`?expires=1800000060&signature=${hmac}`);
  });

  it("is valid until it expires", () => {
    const signed = parts(signer().sign("task", A));
    expect(signer(NOW + 59_999).verify("task", A, ...signed)).to.equal(true);
    expect(signer(NOW + 60_000).verify("task", A, ...signed)).to.equal(false);
  });

  it("is valid only for its kind, its id, its task, its expiry and its secret", () => {
    const [expires, signature] = parts(signer().sign("task", A));
    expect(signer().verify("task", A, expires, signature)).to.equal(true);
    expect(signer().verify("group", A, expires, signature)).to.equal(false);
    expect(signer().verify("task", { ...A, id: "b" }, expires, signature)).to.equal(false);
    expect(signer().verify("task", { ...A, createdMs: A.createdMs + 1 }, expires, signature)).to.equal(false);
    expect(signer().verify("task", A, String(Number(expires) + 1), signature)).to.equal(false);
    expect(signer(NOW, "another secret of 16").verify("task", A, expires, signature)).to.equal(false);
  });

  it("is valid in one spelling only", () => {
    const [expires, signature] = parts(signer().sign("task", A));
    for (const time of [`0${expires}`, ` ${expires}`, `${expires}.0`, "1e15", "-1", ""]) {
      expect(signer().verify("task", A, time, signature), time).to.equal(false);
    }
    for (const text of [
      `${signature}=`,
      ` ${signature}`,
      `${signature}!`,
      signature.slice(0, -1),
      "",
      `${signature}A`,
    ]) {
      expect(signer().verify("task", A, expires, text), text).to.equal(false);
    }
  });

  it("is not current with an expiry that is no number of seconds", () => {
    expect(signer().isCurrent("1800000060")).to.equal(true);
    for (const expires of ["", "01800000060", "x1800000060", "1800000060x", " 1800000060", "1e12", "1".repeat(16)])
      expect(signer().isCurrent(expires), expires).to.equal(false);
  });

  it("is invalid if any part of it is changed", () => {
    const [expires, signature] = parts(signer().sign("task", TASK));
    const text = fc.string({ maxLength: 60 });
    fc.assert(
      fc.property(text, fc.nat(), text, text, (id, createdMs, time, forged) => {
        const real = id === TASK.id && createdMs === TASK.createdMs && time === expires && forged === signature;
        expect(signer().verify("task", { id, createdMs }, time, forged)).to.equal(real);
        expect(signer().verify("task", TASK, expires, forged)).to.equal(forged === signature);
        // No id can be chosen so that its text runs over into the time.
        expect(signer().verify("task", { ...TASK, id: `task-1\n${createdMs}` }, expires, signature)).to.equal(false);
      }),
    );
  });
});

describe("signed links", () => {
  const query = "?expires=1&signature=x";
  const ctx = (access: unknown) => ({ state: { access } }) as Parameters<typeof signatureOf>[0];
  const task = { ...A, caller: "ci" };
  const link = {
    kind: "task" as const,
    id: "a",
    query,
    opens: ({ id }: { id: string }) => id === "a",
    otherwise: undefined,
  };
  const bearer = { ...keyAccess(undefined, false, signer()), link };
  const key = (name: string, ...scopes: Scope[]) =>
    keyAccess({ name, scopes: new Set(scopes), hash: Buffer.alloc(32) }, true, signer());

  it("are given to nobody without URL_SIGNING_KEY", () => {
    expect(signatureOf(ctx(openAccess()), task)).to.equal("");
    expect(signatureOf(ctx(undefined), task)).to.equal("");
  });

  it("are given for their full lifetime to callers who may read the task anyway", () => {
    for (const access of [openAccess(signer()), key("ci", "submit"), key("x", "read"), key("x", "admin")]) {
      expect(signatureOf(ctx(access), task)).to.equal(signer().sign("task", A));
      expect(signatureOf(ctx({ ...access, link }), task)).to.equal(signer().sign("task", A));
    }
  });

  it("are given unchanged to a caller who used one, even with an API key, so that they cannot be extended", () => {
    for (const access of [bearer, { ...key("bob", "submit"), link }, { ...key("ci", "work"), link }]) {
      expect(signatureOf(ctx(access), task)).to.equal(query);
      expect(signatureOf(ctx(access), { ...task, id: "b" })).to.equal("");
      expect(signatureOf(ctx(access), task, "group")).to.equal("");
    }
  });

  it("open only one task", () => {
    expect(maySee(bearer, task)).to.equal(true);
    expect(maySee(bearer, { ...task, id: "b" })).to.equal(false);
    expect(maySee(bearer, { ...task, id: "b", caller: null })).to.equal(false);
  });
});
