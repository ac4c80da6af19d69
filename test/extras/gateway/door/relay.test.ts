import { EventEmitter, once } from "node:events";
import { expect } from "chai";
import { onHangUp } from "../../../../src/extras/gateway/door/relay-request.ts";
import { openScene } from "./relaying.ts";

describe("a relayed request", () => {
  const closing: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of closing.splice(0)) await one.close();
  });
  const scene = async (...args: Parameters<typeof openScene>) => {
    const opened = await openScene(...args);
    closing.push(opened);
    return opened;
  };

  it("and its answer keep their heads byte for byte, without what belongs to a connection", async () => {
    let asked = "";
    const { api, relay, caller } = await scene((wire) => {
      void wire.until("hello").then((text) => {
        asked = text;
        wire.write(
          "HTTP/1.1 299 F\xe9in\r\nX-TWO: 2\r\nx-two: \xe9\r\nSet-Cookie: a=1\r\nSET-cookie: b=2\r\nConnection: X-Gone, keep-alive\r\n" +
            'X-Gone: 1\r\nKeep-Alive: timeout=9\r\nContent-Length: 2\r\nContent-Disposition: attachment; filename="\xe9"\r\nVia: 1.0 b\r\n\r\nok',
        );
      });
    });
    caller.write(
      'POST /%7ea/../b?q="1" HTTP/1.1\r\nHost: shop.example\r\nx-MIXED: \xe9\r\nCookie: a\r\nCookie: b\r\nconnection: x-hop\r\nX-Hop: 1\r\n' +
        "X-Forwarded-For: 198.51.100.1\r\nX_Real_IP: 1\r\nTE: trailers, deflate\r\nVia: 1.0 a\r\nUpgrade: h2c\r\nContent-Length: 5\r\nAuthorization: Basic eA==\r\n\r\nhello",
    );
    expect(await caller.until("ok")).to.equal(
      'HTTP/1.1 299 F\xe9in\r\nX-TWO: 2\r\nx-two: \xe9\r\nSet-Cookie: a=1\r\nSET-cookie: b=2\r\nContent-Disposition: attachment; filename="\xe9"\r\n' +
        "Via: 1.0 b\r\nVia: 1.1 paihao\r\nContent-Length: 2\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nok",
    );
    expect(asked).to.equal(
      `POST /%7ea/../b?q="1" HTTP/1.1\r\nHost: ${new URL(api.url).host}\r\nx-MIXED: \xe9\r\nCookie: a\r\nCookie: b\r\nVia: 1.0 a\r\n` +
        "Content-Length: 5\r\nAuthorization: Basic eA==\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\nVia: 1.1 paihao\r\n" +
        "TE: trailers\r\nConnection: TE\r\n\r\nhello",
    );
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 299 });
  });

  it("is passed on as it comes, and so is its answer, heads before bodies, with trailers", async () => {
    const { relay, caller } = await scene((wire) => {
      void (async () => {
        await wire.until("\r\n\r\n");
        wire.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n");
        await wire.until("one");
        wire.write("3\r\n1st\r\n");
        await wire.until("X-Sum: \xe9\r\n\r\n");
        wire.write("3\r\n2nd\r\n0\r\nX-End: \xe8\r\n\r\n");
      })();
    });
    caller.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    await caller.until("\r\n\r\n");
    expect(caller.text).to.include("Trailer: X-End\r\n");
    caller.write("3\r\none\r\n");
    await caller.until("3\r\n1st\r\n");
    caller.write("3\r\ntwo\r\n0\r\nX-Sum: \xe9\r\n\r\n");
    await caller.until("3\r\n2nd\r\n0\r\nX-End: \xe8\r\n\r\n");
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 200 });
  });

  for (const end of ["closes", "resets", "half-closes"] as const) {
    it(`is aborted at once when its caller ${end} the connection`, async () => {
      let aborted: Promise<unknown> = Promise.resolve();
      const arrival = new EventEmitter();
      const { relay, caller } = await scene((wire) => {
        aborted = once(wire.socket, "end");
        void wire.until("\r\n\r\n").then(() => arrival.emit("arrived"));
      });
      caller.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await once(arrival, "arrived");
      const begun = performance.now();
      if (end === "closes") caller.socket.destroy();
      if (end === "resets") caller.socket.resetAndDestroy();
      if (end === "half-closes") caller.socket.end();
      expect(await relay.ended()).to.deep.equal({ how: "left" });
      await aborted;
      expect(performance.now() - begun).to.be.below(500);
    });
  }

  it("was refused if nobody listens, and may have been carried out if the API hangs up without an answer", async () => {
    const { api, relay, caller } = await scene((wire) => {
      void wire.until("hello").then(() => wire.socket.destroy());
    });
    caller.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    await caller.until("502");
    expect(await relay.ended()).to.deep.include({ how: "unanswered", timedOut: false });
    await api.close();
    caller.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    expect(await relay.ended(2)).to.deep.equal({ how: "refused", reason: "ECONNREFUSED", timedOut: false });
    closing.pop();
  });

  it("ends in a reset if the answer breaks off", async () => {
    const { relay, caller } = await scene((wire) => {
      void wire.until("\r\n\r\n").then(() => {
        wire.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
        setImmediate(() => wire.socket.destroy());
      });
    });
    caller.write("GET / HTTP/1.0\r\n\r\n");
    expect(await caller.closed).to.equal("ECONNRESET");
    expect(await relay.ended()).to.deep.include({ how: "broke-off", status: 200 });
  });

  it("of an upgrade joins both connections, which end each side alone", async () => {
    const { relay, caller } = await scene((wire) => {
      void (async () => {
        const text = await wire.until("\r\n\r\n");
        expect(text).to.include("Upgrade: websocket\r\nConnection: Upgrade\r\n");
        wire.write("HTTP/1.1 101 Switch\r\nUPGRADE: websocket\r\nConnection: Upgrade\r\nSec-X: \xe9\r\n\r\nfirst");
        await wire.until("early late");
        wire.socket.end("last");
        await once(wire.socket, "end");
      })();
    });
    caller.write("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\nearly ");
    expect(await caller.until("first")).to.equal(
      "HTTP/1.1 101 Switch\r\nSec-X: \xe9\r\nVia: 1.1 paihao\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst",
    );
    caller.write("late");
    await caller.until("last");
    expect(relay.outcomes).to.have.length(0);
    caller.socket.end();
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 101 });
    expect(await caller.closed).to.equal("closed");
  });

  it("of an upgrade that the API declines gets a plain answer", async () => {
    const { relay, caller } = await scene((wire) => {
      void wire.until("\r\n\r\n").then(() => wire.write("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"));
    });
    caller.write("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await once(caller.socket, "end");
    expect(caller.text).to.match(/^HTTP\/1.1 403 No\r\n[\s\S]*Connection: close\r\n\r\nno$/);
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 403 });
  });

  it("of an upgrade is cut when it is aborted", async () => {
    const { api, relay, caller } = await scene((wire) => {
      void wire
        .until("\r\n\r\n")
        .then(() => wire.write("HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nfirst"));
    });
    caller.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    await caller.until("first");
    const ends = [once(caller.socket, "end"), once(api.sockets[0] as EventEmitter, "end")];
    relay.abort();
    expect(await relay.ended()).to.deep.equal({ how: "aborted" });
    await Promise.all(ends);
  });

  it("that waits behind a body hears its caller hang up", async () => {
    const heard = new EventEmitter();
    const { relay, caller, api } = await scene(() => undefined, {
      before: async ({ socket }) => {
        const gone = new Promise<void>((resolve) => void onHangUp(socket, resolve));
        heard.emit("waits");
        await gone;
      },
    });
    const waits = once(heard, "waits");
    caller.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n");
    await waits;
    caller.socket.write(Buffer.alloc(900_000), () => caller.socket.resetAndDestroy());
    expect(await relay.ended()).to.deep.equal({ how: "left" });
    expect(api.sockets).to.have.length(0);
  });
});
