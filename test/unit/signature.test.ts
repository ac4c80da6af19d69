import { createHmac } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import { keyAccess, maySee, openAccess, signatureOf } from "../../src/http/access.ts";
import { LinkSigner } from "../../src/http/link-signer.ts";

const SECRET = "a secret of at least 16";
const NOW = 1_800_000_000_000;
const signer = (nowMs = NOW, secret = SECRET) => new LinkSigner(secret, 60_000, () => nowMs);
const parts = (query: string) => {
  const search = new URLSearchParams(query);
  return [search.get("expires") ?? "", search.get("signature") ?? ""] as const;
};

describe("a signed link", () => {
  it("has the time it ends, in seconds since 1970, and an HMAC-SHA256 in base64url", () => {
    const query = signer().sign("a");
    expect(query).to.match(/^\?expires=1800000060&signature=[A-Za-z0-9_-]{43}$/);
    const hmac = createHmac("sha256", SECRET).update("paihao link 1\nread\na\n1800000060").digest("base64url");
    expect(query).to.equal(`?expires=1800000060&signature=${hmac}`);
  });

  it("is good until its time, and no longer", () => {
    const signed = parts(signer().sign("a"));
    expect(signer(NOW + 59_999).verify("a", ...signed)).to.equal(true);
    expect(signer(NOW + 60_000).verify("a", ...signed)).to.equal(false);
  });

  it("is good for one id, one time and one secret", () => {
    const [expires, signature] = parts(signer().sign("a"));
    expect(signer().verify("b", expires, signature)).to.equal(false);
    expect(signer().verify("a", String(Number(expires) + 1), signature)).to.equal(false);
    expect(signer(NOW, "another secret of 16").verify("a", expires, signature)).to.equal(false);
  });

  it("is good in one spelling alone", () => {
    const [expires, signature] = parts(signer().sign("a"));
    for (const time of [`0${expires}`, ` ${expires}`, `${expires}.0`, "1e15", "-1", ""]) {
      expect(signer().verify("a", time, signature), time).to.equal(false);
    }
    for (const text of [
      `${signature}=`,
      ` ${signature}`,
      `${signature}!`,
      signature.slice(0, -1),
      "",
      `${signature}A`,
    ]) {
      expect(signer().verify("a", expires, text), text).to.equal(false);
    }
  });

  it("cannot be had by changing any of it", () => {
    const [expires, signature] = parts(signer().sign("task-1"));
    const text = fc.string({ maxLength: 60 });
    fc.assert(
      fc.property(text, text, text, (id, time, forged) => {
        const real = id === "task-1" && time === expires && forged === signature;
        expect(signer().verify(id, time, forged)).to.equal(real);
        expect(signer().verify("task-1", expires, forged)).to.equal(forged === signature);
        // No id can be chosen so that its text runs over into the time.
        expect(signer().verify(`task-1\n${time}`, expires, signature)).to.equal(false);
      }),
    );
  });
});

describe("who gets signed links", () => {
  const query = "?expires=1&signature=x";
  const ctx = (access: unknown) => ({ state: { access } }) as Parameters<typeof signatureOf>[0];
  const holder = { ...keyAccess(undefined, false, signer()), link: { id: "a", query } };

  it("nobody where links are not signed", () => {
    expect(signatureOf(ctx(openAccess()), "a")).to.equal("");
    expect(signatureOf(ctx(undefined), "a")).to.equal("");
  });

  it("whoever may read the task, for the whole time", () => {
    expect(signatureOf(ctx(openAccess(signer())), "a")).to.equal(signer().sign("a"));
  });

  it("whoever has one gets the same again, so that its end is the end", () => {
    expect(signatureOf(ctx(holder), "a")).to.equal(query);
  });

  it("sees that task, and no other", () => {
    expect(maySee(holder, { id: "a", caller: "ci" })).to.equal(true);
    expect(maySee(holder, { id: "b", caller: "ci" })).to.equal(false);
    expect(maySee(holder, { id: "b", caller: null })).to.equal(false);
  });
});
