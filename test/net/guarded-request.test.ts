import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { sendRequest } from "../../src/net/guarded-request.ts";

describe("an outgoing request", () => {
  /** Answers with what it receives. */
  let server: Server;
  let url: URL;
  before(async () => {
    server = createServer(async (request, response) => {
      const { method, headers } = request;
      response.end(JSON.stringify({ method, headers, body: await text(request) }));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/`);
  });
  after(() => server.close());

  const { signal } = new AbortController();
  const received = async (method: string, body?: string | Uint8Array) => {
    const request = { method, headers: { "x-sender": "us" }, body, signal, agent: false } as const;
    return JSON.parse(await text(await sendRequest(url, request)));
  };

  it("has its headers, and its body with its length, whatever its method is", async () => {
    for (const method of ["POST", "PUT", "DELETE", "GET"]) {
      for (const body of ["é", Buffer.from("é")]) {
        const seen = await received(method, body);
        expect(seen).to.include({ method, body: "é" });
        expect(seen.headers).to.include({ "x-sender": "us", "content-length": "2" });
      }
    }
  });

  it("has no length without a body", async () => {
    const { headers, body } = await received("GET");
    expect(body).to.equal("");
    expect(headers).to.include({ "x-sender": "us" }).and.not.have.property("content-length");
  });
});
