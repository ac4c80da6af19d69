import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { readLimited } from "../../../../src/net/read-limited.ts";
import { openScene, Wire } from "./relaying.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

describe("what a relay asks of messages", () => {
  const closing: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of closing.splice(0).reverse()) await one.close();
  });
  const scene = async (...args: Parameters<typeof openScene>) => {
    const opened = await openScene(...args);
    closing.push(opened);
    return opened;
  };
  /** The answer to a request if the API's is the given one; the connection is closed after it. */
  const answerTo = async (request: string, answer: string): Promise<[text: string, how: string]> => {
    const { relay, caller } = await scene((wire) => {
      void wire.until("\r\n\r\n").then(() => {
        wire.write(answer);
        setImmediate(() => wire.socket.end());
      });
    });
    caller.write(request);
    const how = await relay.ended();
    caller.socket.end();
    await caller.closed;
    return [caller.text, how?.how ?? ""];
  };

  it("frames an answer as its caller and its kind ask", async () => {
    const get10 = "GET / HTTP/1.0\r\n\r\n";
    const head = "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n";
    const via = "Via: 1.1 paihao\r\n";
    const close = "Connection: close\r\n";
    const cases: [request: string, answer: string, expected: string][] = [
      [
        head,
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        `HTTP/1.1 200 OK\r\nContent-Length: 9\r\n${via}${close}\r\n`,
      ],
      [get, "HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n", `HTTP/1.1 204 \r\n${via}${close}\r\n`],
      [
        get,
        "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n",
        `HTTP/1.1 304 Same\r\nContent-Length: 9\r\n${via}${close}\r\n`,
      ],
      [get10, chunked, `HTTP/1.1 200 OK\r\n${via}${close}\r\nok`],
      [
        get,
        "HTTP/1.0 200 OK\r\n\r\nto the end",
        `HTTP/1.1 200 OK\r\nVia: 1.0 paihao\r\n${close}Transfer-Encoding: chunked\r\n\r\na\r\nto the end\r\n0\r\n\r\n`,
      ],
    ];
    for (const [request, answer, expected] of cases) {
      expect(await answerTo(request, answer), answer).to.deep.equal([expected, "whole"]);
    }
  });

  it("refuses an answer that two programs could read in two ways", async () => {
    for (const answer of [
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
      "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
      "HTTP/1.1 101 Switch\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "SSH-2.0-OpenSSH\r\n",
    ]) {
      const [text, how] = await answerTo(GET, answer);
      expect([text.slice(0, 12), how], answer).to.deep.equal(["HTTP/1.1 502", "unanswered"]);
    }
    const [text, how] = await answerTo(GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n");
    expect([text.endsWith("0\r\n\r\n"), how]).to.deep.equal([false, "broke-off"]);
  });

  it("refuses a request that two programs could read in two ways, before the API hears of it", async () => {
    const { api, relay } = await scene((wire) => void wire.until("\r\n\r\n").then(() => wire.write(OK)));
    const post = "POST / HTTP/1.1\r\nHost: a\r\n";
    const chunked = `${post}Transfer-Encoding: chunked\r\n`;
    for (const request of [
      `${chunked}Content-Length: 5\r\n\r\n0\r\n\r\n`,
      `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
      `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      `${post}X: a\r\n b\r\n\r\n`,
      `${post}X : a\r\n\r\n`,
      `${post}X: a\0b\r\n\r\n`,
      "GET / HTTP/1.1\nHost: a\n\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET /\r\n\r\n",
      "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
    ]) {
      const wire = new Wire(relay.port).write(request);
      await once(wire.socket, "end");
      expect(wire.text.slice(0, 12), request).to.equal("HTTP/1.1 400");
      wire.socket.destroy();
    }
    expect(api.sockets).to.have.length(0);
    // One whose body turns out to be malformed later is never whole for the API.
    const late = new Wire(relay.port).write(`${chunked}\r\n3\r\nabc\r\nzz\r\n`);
    await once(late.socket, "end");
    late.socket.destroy();
    expect((await relay.ended())?.how).to.equal("left");
    expect(api.sockets).to.have.length.below(2);
  });

  it("passes on Expect, and informational answers as they come", async () => {
    let asked = "";
    const { caller, relay } = await scene((wire) => {
      void (async () => {
        asked = await wire.until("\r\n\r\n");
        wire.write("HTTP/1.1 103 Early Hints\r\nLink: </\xe9>; rel=preload\r\nConnection: X\r\nX: 1\r\n\r\n");
        await caller.until("103");
        wire.write("HTTP/1.1 100 Continue\r\n\r\n");
        await wire.until("hello");
        wire.write(OK);
      })();
    });
    caller.write("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    await caller.until("100 Continue\r\n\r\n");
    expect(asked).to.include("Expect: 100-continue\r\n");
    expect(caller.text).to.equal(
      "HTTP/1.1 103 Early Hints\r\nLink: </\xe9>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
    );
    caller.write("hello");
    await caller.until("ok");
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 200 });
  });

  it("takes an answer that comes before the body for the end, and reads the rest of the body", async () => {
    const { api, caller, relay } = await scene((wire) => {
      void wire.until("\r\n\r\n").then(() => wire.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"));
    });
    caller.write("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n");
    await caller.until("\r\n\r\nno");
    expect(caller.text).to.include("Connection: close\r\n");
    expect(await relay.ended()).to.deep.equal({ how: "whole", status: 413 });
    await once(api.sockets[0] as NonNullable<(typeof api.sockets)[0]>, "end");
    // The rest is read, so that the answer is not lost by a reset.
    caller.write("x".repeat(9_000_000));
    caller.socket.end();
    expect(await caller.closed).to.equal("closed");
  });

  it("keeps connections, but sends nothing twice that might be carried out twice", async () => {
    const requests: string[] = [];
    const { api, caller, relay } = await scene((wire, n) => {
      void (async () => {
        requests.push(`${n} ${(await wire.until("\r\n\r\n")).split(" ")[0]}`);
        wire.write(OK);
        // The second request on a connection gets no answer.
        wire.text = "";
        requests.push(`${n} ${(await wire.until("\r\n\r\n").catch(() => "closed ")).split(" ")[0]}`);
        wire.socket.destroy();
      })();
    });
    for (const [request, how] of [
      [GET, "whole"],
      [GET, "whole"],
      [POST, "whole"],
      [POST, "unanswered"],
    ] as const) {
      caller.write(request);
      expect((await relay.ended(relay.outcomes.length + 1))?.how, requests.join()).to.equal(how);
    }
    // The second GET was sent again on a new connection; the second POST was not.
    expect(requests).to.deep.equal(["0 GET", "0 GET", "1 GET", "2 POST", "2 POST"]);
    expect(api.sockets).to.have.length(3);
    // A connection that was idle for longer is not used for a POST.
    caller.write(POST);
    await relay.ended(5);
    await sleep(1200);
    caller.write(POST);
    expect(await relay.ended(6)).to.deep.equal({ how: "whole", status: 200 });
  });

  it("gives up on an API that does not answer in time, and on a signal", async () => {
    const { caller, relay, api } = await scene(() => undefined, { timeoutMs: 50 });
    caller.write(GET);
    expect(await relay.ended()).to.deep.equal({ how: "unanswered", reason: "timeout", timedOut: true });
    await once(api.sockets[0] as NonNullable<(typeof api.sockets)[0]>, "end");
    const patient = await scene(
      (wire) => void wire.until("\r\n\r\n").then(() => wire.write("HTTP/1.1 200 OK\r\n\r\nbegun")),
    );
    patient.caller.write(GET);
    await patient.caller.until("begun");
    patient.relay.abort();
    expect(await patient.relay.ended()).to.deep.equal({ how: "aborted" });
    expect(await patient.caller.closed).to.equal("ECONNRESET");
  });

  it("adds an answer's body to one that has begun, or what is written instead", async () => {
    const begin = {
      before: async (_: unknown, response: import("node:http").ServerResponse) => {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.write(": 1 before you\n\n");
      },
      begun: (answer: import("node:http").IncomingMessage) =>
        answer.statusCode === 200
          ? undefined
          : readLimited(answer, { maxBytes: 1000 }).then((body) => `data: ${body}\n\n`),
    };
    for (const [answer, expected] of [
      [OK, "2\r\nok\r\n0\r\n\r\n"],
      [OK.replace("200", "429"), "a\r\ndata: ok\n\n\r\n0\r\n\r\n"],
    ] as const) {
      const { caller, relay } = await scene(
        (wire) => void wire.until("\r\n\r\n").then(() => wire.write(answer)),
        begin,
      );
      caller.write(GET);
      await caller.until("0\r\n\r\n");
      expect(caller.text.split("you\n\n\r\n")[1]).to.equal(expected);
      expect((await relay.ended())?.how).to.equal("whole");
    }
  });

  it("ignores an offer of HTTP/2, also beside a body", async () => {
    let asked = "";
    const { caller } = await scene((wire) => {
      void wire.until("hello").then((text) => {
        asked = text;
        wire.write(OK);
      });
    });
    caller.write(
      "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: 5\r\n\r\nhello",
    );
    await caller.until("ok");
    expect(asked).to.not.match(/upgrade|http2/i);
  });
});
