import { createHmac } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import { LinkSigner } from "../../src/auth/link-signer.ts";

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
