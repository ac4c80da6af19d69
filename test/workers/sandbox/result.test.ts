import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { toResult } from "../../../src/workers/sandbox/result.ts";

describe("the Content-Encoding of a handler's answer", () => {
  const zipped = gzipSync("hello");
  const headers = { "Content-Type": "text/plain", "Content-Encoding": "gzip" };

  it("is dropped from a fetched response, since fetch has decoded it", async () => {
    const server = http.createServer((_, res) => res.writeHead(200, headers).end(zipped));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const fetched = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const result = await toResult(fetched, 1000, new AbortController());
      expect(Buffer.from(result.body).toString()).to.equal("hello");
      expect(result.headers).to.not.have.property("content-encoding");
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it("is kept if the handler encoded the bytes itself", async () => {
    const result = await toResult(new Response(zipped, { headers }), 1000, new AbortController());
    expect(Buffer.from(result.body).equals(zipped)).to.equal(true);
    expect(result.headers["content-encoding"]).to.equal("gzip");
  });
});
