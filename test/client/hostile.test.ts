import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { PaihaoClient, PaihaoError } from "paihao/client";
import { failure } from "./failure.ts";

/** Requests that a server has got: `METHOD path`, and what it was sent. */
interface Hostile {
  readonly client: PaihaoClient;
  readonly url: string;
  readonly seen: string[];
  readonly bodies: string[];
  readonly keys: (string | undefined)[];
}

describe("the client of a hostile server", () => {
  const servers: Server[] = [];

  async function hostile(answer: RequestListener): Promise<Hostile> {
    const seen: string[] = [];
    const bodies: string[] = [];
    const keys: (string | undefined)[] = [];
    const server = createServer((req, res) => {
      seen.push(`${req.method} ${req.url}`);
      keys.push(req.headers.authorization);
      let body = "";
      req.on("data", (part) => {
        body += part;
      });
      req.on("end", () => {
        if (body !== "") bodies.push(body);
        answer(req, res);
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { client: new PaihaoClient({ url, key: "the-key" }), url, seen, bodies, keys };
  }

  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  });

  /** Writes without an end, as fast as it is read. */
  const endless =
    (type: string, begin: string, part: string, status = 200): RequestListener =>
    (_, res) => {
      res.writeHead(status, { "Content-Type": type });
      res.write(begin);
      const chunk = part.repeat(Math.ceil(1_000_000 / part.length));
      const more = () => {
        while (!res.destroyed && res.write(chunk));
      };
      res.on("drain", more);
      more();
    };

  it("stops reading a document or a problem that is too long, and does not ask for it again", async () => {
    for (const status of [200, 400]) {
      const server = await hostile(endless("application/json", '"', "x", status));
      const error = await failure(server.client.queues());
      expect(error).to.be.instanceOf(PaihaoError).and.include({ kind: "refused" });
      if (status === 200) expect(error).to.have.property("message", "The answer is too long");
      expect(server.seen).to.have.length(1);
    }
  });

  it("stops reading an event whose line does not end, and verdicts that do not end", async () => {
    const server = await hostile(endless("text/event-stream", "data: ", "x"));
    const watched = failure(server.client.watch("a").next());
    expect(await watched).to.have.property("message", "The answer is too long");
    expect(server.seen.at(-1)).to.equal("GET /v1/requests/a/status");
    const batches = await hostile(endless("application/x-ndjson", "", "x"));
    const verdicts = failure(batches.client.batch("greet", [1]).next());
    expect(await verdicts).to.have.property("message", "The answer is too long");
  });

  it("sends an input and a key to no other server that this one names", async () => {
    const other = await hostile((_, res) => res.end("{}"));
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await hostile((req, res) => res.writeHead(status, { Location: other.url + req.url }).end());
      const refused = await failure(server.client.submit("greet", "secret"));
      expect(refused).to.include({ kind: "refused" }).and.have.nested.property("problem.title", `HTTP ${status}`);
      await server.client.queues();
    }
    expect(other.seen).to.deep.equal(Array(5).fill("GET /v1/queues"));
    expect(other.bodies).to.deep.equal([]);
    expect(other.keys.every((key) => key === undefined)).to.equal(true);
  });

  it("follows a monitor to the result", async () => {
    const server = await hostile((req, res) => {
      if (req.url === "/v1/requests/a") res.end("the result");
      else res.writeHead(303, { Location: "/v1/requests/a" }).end();
    });
    const response = await server.client.request("/v1/requests/a/status?onComplete=redirect");
    expect(await response.text()).to.equal("the result");
    expect(server.keys).to.deep.equal(["Bearer the-key", "Bearer the-key"]);
  });

  it("sends nothing for an invalid id or queue name", async () => {
    const server = await hostile((_, res) => res.end("{}"));
    const { client } = server;
    for (const name of ["..", ".", "", "a/b", "a b", "%2e%2e", "-a", "x".repeat(129), "é"]) {
      for (const refused of [
        client.submit(name, 1),
        client.submit("greet", 1, { id: name }),
        client.quote(name, 1),
        client.batch(name, [1]).next(),
        client.status(name),
        client.result(name),
        client.cancel(name),
        client.cancel({ id: name, queue: "greet" }),
        client.watch(name).next(),
        client.outputs(`/v1/requests/${name}/status`).next(),
      ]) {
        expect(await failure(refused), name).to.be.instanceOf(TypeError);
      }
    }
    expect(server.seen).to.deep.equal([]);
  });

  it("refuses an option that cannot be sent at once, and names it", async () => {
    const server = await hostile((_, res) => res.end("{}"));
    const { client } = server;
    const refused = async (what: RegExp, attempt: Promise<unknown>) => {
      expect(await failure(attempt))
        .to.be.instanceOf(TypeError)
        .and.have.property("message")
        .that.matches(what);
    };
    await refused(/id "order:42"/, client.submit("greet", 1, { id: "order:42" }));
    await refused(/id "order:42"/, client.run("greet", 1, { id: "order:42" }));
    for (const priority of [9, -1, 2.5, Number.NaN]) {
      await refused(/priority/, client.submit("greet", 1, { priority }));
      await refused(/priority/, client.batch("greet", [1], { priority }).next());
    }
    for (const idempotencyKey of ["a\nb", "a b", "ключ", ""]) {
      await refused(/idempotencyKey/, client.submit("greet", 1, { idempotencyKey }));
    }
    await refused(/duration "soon"/, client.submit("greet", 1, { delay: "soon" }));
    await refused(/header/, client.submit("greet", "text", { type: "text/plain\nX: y" }));
    await refused(/URL/, client.request("queues"));
    expect(server.seen).to.deep.equal([]);
    for (const url of ["localhost:3000", "127.0.0.1:3000", "example.com", "ftp://example.com", ""]) {
      expect(() => new PaihaoClient({ url }), url).to.throw(TypeError, /^url/);
    }
    for (const at of ["http://ann:pw@h", "ann:pw@h", "ftp://ann:pw@h/x"])
      expect(() => new PaihaoClient({ url: at }), at).to.throw(TypeError, /^url (?!.*ann)/);
    for (const key of ["ключ", "a\nb", "a b"]) {
      expect(() => new PaihaoClient({ url: server.url, key }))
        .to.throw(TypeError, /key/)
        .with.property("message")
        .that.does.not.include(key);
    }
    await new PaihaoClient({ url: server.url, key: "from-a-file\n" }).queues();
    expect(server.keys).to.deep.equal(["Bearer from-a-file"]);
  });

  it("reports a failed task as failed, whatever code its handler gave", async () => {
    for (const code of ["unknown", "canceled", "store-unavailable", "other"]) {
      const problem = { type: `/problems/${code}`, title: "No", status: 503, state: "failed" };
      const server = await hostile((_, res) => res.writeHead(503).end(JSON.stringify(problem)));
      expect(await failure(server.client.result("a"))).to.include({ kind: "failed", code, name: "TaskFailed" });
      expect(server.seen).to.have.length(1);
    }
  });

  it("treats any unknown code as a refusal", async () => {
    for (const code of ["constructor", "__proto__", "toString", "other"]) {
      const problem = { type: `/problems/${code}`, title: "No", status: 400 };
      const server = await hostile((_, res) => res.writeHead(400).end(JSON.stringify(problem)));
      expect(await failure(server.client.queues())).to.include({ kind: "refused", code, name: "PaihaoError" });
    }
  });
});
