import { once } from "node:events";
import { createServer } from "node:net";
import { expect } from "chai";
import { type Delivery, post, Undelivered } from "../../../src/extras/webhooks/request.ts";
import { AddressGuard, parseAllowList, type Resolve } from "../../../src/net/ssrf-guard.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const LOCAL = new AddressGuard(parseAllowList(["127.0.0.1"]), { plainHttp: "listed" });

describe("one attempt to deliver an event", () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const send = (delivery: Partial<Delivery> = {}) =>
    post({
      url: receiver.url,
      headers: { "content-type": "application/json" },
      body: '{"grüße":"世界"}',
      guard: LOCAL,
      signal: new AbortController().signal,
      ...delivery,
    });
  const failure = async (delivery: Partial<Delivery> = {}): Promise<string> => {
    const error = await send(delivery).then(
      ({ status }) => expect.fail(`answered ${status}`),
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(Undelivered);
    return (error as Undelivered).message;
  };

  it("posts the body unchanged, and returns the status and Retry-After of the response", async () => {
    receiver.answers((_, res) => {
      res.writeHead(503, { "Retry-After": "7" }).end("later");
      return undefined;
    });
    expect(await send()).to.deep.equal({ status: 503, retryAfter: "7" });
    const [got] = receiver.received;
    expect(got).to.include({ method: "POST", path: "/hook", body: '{"grüße":"世界"}' });
    expect(got?.headers).to.include({
      "content-length": String(Buffer.byteLength(got?.body ?? "")),
      connection: "close",
    });
  });

  it("does not follow redirects", async () => {
    const other = await startReceiver();
    receiver.answers((_, res) => {
      res.writeHead(307, { Location: other.url }).end();
      return undefined;
    });
    expect(await send()).to.include({ status: 307 });
    expect(other.received).to.deep.equal([]);
    await other.close();
  });

  it("uses the status of a response whose body does not end, and hardly waits for the rest", async () => {
    receiver.answers((_, res) => {
      res.writeHead(200).write("a beginning");
      return undefined;
    });
    expect(await send({ timeoutMs: 600_000 })).to.include({ status: 200 });
    expect(await send({ timeoutMs: 200 })).to.include({ status: 200 });
  });

  it("reads a huge response only up to its limit", async () => {
    let written = 0;
    const closed = new Promise<void>((resolve) => {
      receiver.answers((_, res) => {
        const chunk = Buffer.alloc(65_536);
        const more = () => {
          while (!res.destroyed && res.write(chunk)) written += chunk.length;
        };
        res.writeHead(200).on("drain", more).on("close", resolve);
        more();
        return undefined;
      });
    });
    expect(await send()).to.include({ status: 200 });
    await closed;
    // What the two sockets hold comes on top of what was read.
    expect(written).to.be.below(32 * 1024 ** 2);
  });

  it("fails if the connection ends without a response, for whatever reason", async () => {
    for (const answer of [
      "",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
      "nonsense",
    ]) {
      const server = createServer((socket) =>
        socket
          .on("error", () => undefined)
          .resume()
          .end(answer),
      ).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as { port: number };
      expect(await failure({ url: `http://127.0.0.1:${port}/`, timeoutMs: 5000 }), answer).not.to.match(/within/);
      server.close();
    }
  });

  it("ends with the reason of the signal", async () => {
    receiver.answers(() => undefined);
    const stop = new AbortController();
    const sent = send({ signal: stop.signal }).catch((error: unknown) => error);
    await receiver.count(1);
    stop.abort(new Error("the lease is lost"));
    expect(await sent).to.have.property("message", "the lease is lost");
    expect(await send({ signal: stop.signal }).catch((error: unknown) => error)).to.have.property(
      "message",
      "the lease is lost",
    );
  });

  it("never connects to a private address, even if the name was public a moment ago (rebinding)", async () => {
    const addresses = ["93.184.215.14", "127.0.0.1"];
    const resolve: Resolve = async () => [{ address: addresses.shift() ?? "127.0.0.1", family: 4 }];
    const guard = new AddressGuard(parseAllowList([]), { resolve });
    const url = `http://hooks.example:${receiver.port}/`;
    await guard.check(url);
    expect(await failure({ url, guard })).to.match(/refused: hooks\.example has an address that is not public/);
    expect(await failure({ url: receiver.url, guard })).to.match(/refused: 127\.0\.0\.1 is not a public address/);
    expect(receiver.received).to.deep.equal([]);
  });

  it("connects to exactly the address that was checked", async () => {
    const asked: string[] = [];
    const resolve: Resolve = async (host) => {
      asked.push(host);
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const guard = new AddressGuard(parseAllowList(["hooks.invalid"]), { plainHttp: "listed", resolve });
    expect(await send({ url: `http://hooks.invalid:${receiver.port}/x`, guard })).to.include({ status: 204 });
    expect(asked).to.deep.equal(["hooks.invalid"]);
    expect(receiver.received[0]?.headers.host).to.equal(`hooks.invalid:${receiver.port}`);
  });
});
