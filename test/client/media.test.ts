import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect } from "chai";
import { PaihaoClient } from "paihao/client";
import type * as handlers from "../fixtures/handlers/client/handlers.ts";
import { judgeFetched } from "../helpers/http/fetched.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { failure } from "./failure.ts";

describe("what the client sends and gets", () => {
  judgeFetched();
  let server: TestServer;
  let client: PaihaoClient<typeof handlers>;
  before(async () => {
    server = await startServer({ HANDLERS: path.join(import.meta.dirname, "../fixtures/handlers/client") });
    client = new PaihaoClient<typeof handlers>({ url: `${server.url}/` });
  });
  after(() => server.stop());

  const BYTES = Uint8Array.of(0, 255, 10, 13, 128);

  it("is bytes, from whatever holds them, under their media type", async () => {
    const reversed = [...BYTES].reverse();
    for (const input of [BYTES, BYTES.buffer, new Blob([BYTES], { type: "image/png" }), new Blob([BYTES])]) {
      expect([...(await client.run("mirror", input))]).to.deep.equal(reversed);
    }
    expect([...(await client.run("mirror", BYTES, { type: "image/webp" }))]).to.deep.equal(reversed);
    expect((await client.run("mirror", new Uint8Array(0))).length).to.equal(0);
    expect(await failure(client.run("mirror", BYTES, { type: "text/plain" }))).to.include({
      kind: "refused",
      code: "unsupported-media-type",
    });
  });

  it("is any JSON value, in any language", async () => {
    const untyped = new PaihaoClient({ url: server.url });
    const gated = await client.run("greet", { name: "世界 🎫\u2028" });
    expect(gated.greeting).to.equal("Hello, 世界 🎫\u2028");
    expect(await untyped.run("nothing", undefined)).to.equal(undefined);
    for (const value of [null, false, 0, "", "text", [1, [2]], { a: { b: null } }]) {
      const body = JSON.stringify(value);
      expect(await client.run("page", { body, type: "application/json" })).to.deep.equal(value);
    }
    const long = "x".repeat(100_000);
    expect(await client.run("page", { body: JSON.stringify(long), type: "application/json" })).to.equal(long);
  });

  it("is a Response if it is neither JSON nor bytes, or if that is requested", async () => {
    const page = await client.run("page", { body: "<p>Hi", type: "text/html" });
    if (!(page instanceof Response)) throw new Error("no Response");
    expect(page.headers.get("x-made-by")).to.equal("page");
    expect(await page.text()).to.equal("<p>Hi");
    const input = { body: '{"made":true}', status: 201, type: "application/json" };
    const whole = await client.run("page", input, { as: "response" });
    expect([whole.status, await whole.json()]).to.deep.equal([201, { made: true }]);
    expect(await client.run("page", input)).to.deep.equal({ made: true });
    const refusing = { body: '{"made":false}', status: 503, type: "application/json" };
    expect(await client.run("page", refusing), "a result, whatever its status").to.deep.equal({ made: false });
    const lying = await client.run("page", { body: "{", type: "application/json" });
    if (!(lying instanceof Response)) throw new Error("no Response");
    expect(await lying.text()).to.equal("{");
  });

  it("is a redirect as it is: the client does not go there", async () => {
    const visited: (string | undefined)[] = [];
    const other = http.createServer((req, res) => {
      visited.push(req.url);
      res.end("a file");
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    try {
      const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/file`;
      const accepted = await client.submit("elsewhere", location);
      const results: unknown[] = [
        await client.run("elsewhere", location),
        await client.run("elsewhere", location, { as: "response" }),
        await client.result(accepted),
        await client.result(accepted, { as: "response" }),
      ];
      for (const result of results) {
        if (!(result instanceof Response)) throw new Error("no Response");
        expect([result.status, result.headers.get("location")]).to.deep.equal([303, location]);
      }
      expect(visited).to.deep.equal([]);
    } finally {
      other.close();
      other.closeAllConnections();
    }
  });
});
