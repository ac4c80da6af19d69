import { expect } from "chai";
import { redaction } from "../src/redact.ts";

describe("a log line", () => {
  const clean = redaction();

  it("has no password of a URL, but its host and user", () => {
    expect(clean("cannot reach redis://:hunter2@redis.example:6379/2")).to.equal(
      "cannot reach redis://:***@redis.example:6379/2",
    );
    expect(clean("rediss+sentinel://app:p%40ss@a:1,b:2/m")).to.equal("rediss+sentinel://app:***@a:1,b:2/m");
    const plain = 'https://api.example:8443/a@b?x=1, "at": "2026-11-22T08:00:00Z", file:///srv/a:b@c';
    expect(clean(plain)).to.equal(plain);
  });

  it("has no signature or token of a query", () => {
    expect(clean("/v1/requests/a?expires=17&signature=abc_-1&x=2")).to.equal(
      "/v1/requests/a?expires=17&signature=***&x=2",
    );
    expect(clean('"url":"https://h.example/?sig=abc","n":1')).to.equal('"url":"https://h.example/?sig=***","n":1');
    expect(clean("?token=a&TOKEN=b&monkey=c")).to.equal("?token=***&TOKEN=***&monkey=c");
  });

  it("has no credentials, keys of ours or secrets of webhooks", () => {
    expect(clean("Authorization: Bearer abc.def-123==")).to.equal("Authorization: Bearer ***");
    expect(clean("basic YWRtaW46c2VjcmV0")).to.equal("basic ***");
    expect(clean("key ph_0123456789abcdefABCDEF-_ of ci")).to.equal("key ph_*** of ci");
    expect(clean("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw,next")).to.equal("whsec_***,next");
    expect(clean("a basic idea, the bearer of news")).to.equal("a basic idea, the bearer of news");
  });

  it("has no value of a member that is named like a secret, whatever is in it, and stays JSON", () => {
    const secret = 'a"b\\c,d';
    for (const name of ["authorization", "Cookie", "password", "secret", "apiKey", "webhook-signature"]) {
      const line = clean(JSON.stringify({ a: 1, headers: { [name]: secret, b: 2 }, msg: "x" }));
      expect(JSON.parse(line), name).to.deep.equal({ a: 1, headers: { [name]: "***", b: 2 }, msg: "x" });
    }
    const several = clean(JSON.stringify({ "set-cookie": [secret, secret], n: 1 }));
    expect(JSON.parse(several)).to.deep.equal({ "set-cookie": "***", n: 1 });
  });

  it("has no such value in a text of JSON either", () => {
    const body = JSON.stringify({ password: "hunter2", "x-api-key": "hunter2", n: 1 });
    const line = JSON.parse(clean(JSON.stringify({ msg: `refused: ${body}` })));
    expect(line.msg).to.equal('refused: {"password":"***","x-api-key":"***","n":1}');
  });

  it("has none in JSON that a text quotes, whatever is in it, and stays JSON", () => {
    const secret = 'hunter2 "a\\b\n"c, \\';
    for (const name of ["password", "access_token", "token", "client_secret", "X-Api-Key"]) {
      for (const space of [0, 2]) {
        const quoted = JSON.stringify({ a: 1, [name]: secret, b: "2" }, null, space);
        const { msg } = JSON.parse(clean(JSON.stringify({ msg: `refused: ${quoted}, next` })));
        const masked = JSON.stringify({ a: 1, [name]: "***", b: "2" }, null, space);
        expect(msg).to.equal(`refused: ${masked}, next`);
        const deep = clean(JSON.stringify({ msg: JSON.stringify({ body: quoted }), n: 1 }));
        expect(deep, deep).to.not.match(/hunter2/);
        expect(JSON.parse(deep).n).to.equal(1);
      }
    }
  });

  it("stays JSON if it ends like such a member", () => {
    for (const end of ["\\", '\\"', "\\\\"]) {
      const msg = `x-api-key "authorization":${end}`;
      expect(JSON.parse(clean(JSON.stringify({ msg, n: 1 }))).n, msg).to.equal(1);
    }
  });

  it("has none of headers that are listed, or as they are sent", () => {
    const listed = JSON.stringify({
      rawHeaders: ["Cookie", 'a"b', "X-Api-Key", "c", "Accept", "d"],
      pair: ["cookie", "e"],
    });
    expect(JSON.parse(clean(listed))).to.deep.equal({
      rawHeaders: ["Cookie", "***", "X-Api-Key", "***", "Accept", "d"],
      pair: ["cookie", "***"],
    });
    const sent = JSON.stringify({ msg: "GET / HTTP/1.1\r\nCookie: a=b; c=d\r\nX-API-Key: e\r\nAccept: f" });
    expect(JSON.parse(clean(sent)).msg).to.equal("GET / HTTP/1.1\r\nCookie: ***\r\nX-API-Key: ***\r\nAccept: f");
  });

  it("has none of the given secrets, also as they are in JSON", () => {
    const known = redaction(["correct horse", 'quo"ted', "short"]);
    const line = JSON.stringify({ msg: 'correct horse, quo"ted, short' });
    expect(JSON.parse(known(line))).to.deep.equal({ msg: "***, ***, short" });
  });

  it("has no secret behind an escape sequence, or with characters that end one elsewhere", () => {
    const key = `ph_${"k".repeat(43)}`;
    const line = JSON.stringify({ msg: `refused:\n${key}\tBearer abcdef-123\nredis://app:pa:s@s@h:1` });
    expect(JSON.parse(clean(line))).to.deep.equal({ msg: "refused:\nph_***\tBearer ***\nredis://app:***@h:1" });
    const several = clean(JSON.stringify({ cookie: ["a]b", "c"], n: 1 }));
    expect(JSON.parse(several)).to.deep.equal({ cookie: "***", n: 1 });
    const nested = redaction(["correct", "correct horse"]);
    expect(nested("correct horse")).to.equal("***");
  });

  it("has the beginning of a long value, and more of the text of an error", () => {
    const long = "x".repeat(100_000);
    const line = JSON.parse(
      clean(JSON.stringify({ path: long, list: [long, 1], [long]: true, msg: long, reason: long })),
    );
    expect(line).to.deep.equal({
      path: `${"x".repeat(256)}…`,
      list: [`${"x".repeat(256)}…`, 1],
      [`${"x".repeat(256)}…`]: true,
      msg: `${"x".repeat(2048)}…`,
      reason: `${"x".repeat(2048)}…`,
    });
    expect(JSON.parse(clean(JSON.stringify({ path: "x".repeat(256) })))).to.deep.equal({ path: "x".repeat(256) });
  });

  it("has the frames of an error whose message is long", () => {
    const frames = "\n    at run (file:///srv/handler.ts:3:9)\n    at next (file:///srv/node.js:1:2)";
    const usual = { stack: `Error: no\n${frames.repeat(40)}` };
    expect(JSON.parse(clean(JSON.stringify(usual)))).to.deep.equal(usual);
    const { stack } = JSON.parse(clean(JSON.stringify({ stack: `Error: ${"x".repeat(5000)}${frames.repeat(20)}` })));
    expect(stack.slice(0, 2049 + frames.length)).to.equal(`Error: ${"x".repeat(2041)}…${frames}`);
    expect(stack.length).to.be.below(8192);
  });

  it("has no bytes of a Buffer", () => {
    const line = JSON.stringify({ err: { args: [Buffer.alloc(10_000), "a"] }, msg: "x" });
    expect(JSON.parse(clean(line))).to.deep.equal({ err: { args: [{ type: "Buffer", data: [] }, "a"] }, msg: "x" });
  });

  it("has no part of a secret that goes through the cut, and stays JSON wherever the cut is", () => {
    const known = redaction(["correct horse battery"]);
    const secrets = [
      "redis://app:hunter2hunter2@h:6379",
      "http://h/?token=hunter2hunter2",
      "Bearer hunter2hunter2hunter2",
      `ph_${"hunter2".repeat(6)}`,
      `whsec_${"hunter2".repeat(6)}==`,
      "correct horse battery",
      `redis://app:${"hunter2".repeat(400)}@h:6379`,
      '\n"\\\u0001😀é',
    ];
    for (const secret of secrets) {
      const json = JSON.stringify(secret).length;
      for (let before = 256 - json; before <= 257; before += 1) {
        if (before < 0) continue;
        const line = known(JSON.stringify({ path: `${"-".repeat(before)} ${secret}${" z".repeat(200)}` }));
        const { path } = JSON.parse(line);
        expect(path, `${secret} at ${before}`).to.not.match(/hun|orrect|[\ud800-\udbff](?![\udc00-\udfff])/);
        expect(path.length).to.be.at.most(257 + "***".length);
      }
    }
  });

  it("has control characters only as escape sequences", () => {
    const said = "\u001b[2J\u009b2J\u007f\u202eevil\u2066\u061c\u2028é😀";
    const line = clean(`${JSON.stringify({ msg: said })}\n`);
    expect(line).to.match(/^[ -~éé😀]*\n$/u);
    expect(JSON.parse(line)).to.deep.equal({ msg: said });
  });
});
