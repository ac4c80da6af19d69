import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { isShort, takeBody } from "../../../src/http/server/request.ts";

describe("a request whose body may arrive with its head", () => {
  let server: Server;
  let socket: Socket;
  let handle: (req: IncomingMessage, res: ServerResponse) => unknown;

  beforeEach(async () => {
    server = createServer((req, res) => {
      if (isShort(req)) process.nextTick(() => handle(req, res));
      else handle(req, res);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  });
  afterEach(() => {
    socket.destroy();
    server.close();
  });

  const post = (body: string, length = body.length) =>
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`;
  /** The next answers, once there are so many. */
  const answers = async (count: number) => {
    let received = "";
    for (;;) {
      const [chunk] = await once(socket, "data");
      received += String(chunk);
      const bodies = [...received.matchAll(/<.*?>/g)].map(([body]) => body);
      if (bodies.length === count) return bodies;
    }
  };
  const answer = (res: ServerResponse, body: string) => res.end(`<${body}>`);
  const taken = (req: IncomingMessage) => takeBody(req)?.toString() ?? "none";

  it("returns it at once, for every request of a connection", async () => {
    handle = (req, res) => answer(res, taken(req));
    socket.write(post("one") + post("two"));
    socket.write(post("three"));
    expect(await answers(3)).to.deep.equal(["<one>", "<two>", "<three>"]);
  });

  it("returns it once, and an empty stream after that", async () => {
    handle = async (req, res) => answer(res, `${taken(req)} ${taken(req)} ${await text(req)}`);
    socket.write(post("one"));
    expect(await answers(1)).to.deep.equal(["<one none >"]);
  });

  it("ends like any other when it is answered without the body being read", async () => {
    let ended = 0;
    handle = (req, res) => {
      req.on("end", () => {
        ended += 1;
      });
      answer(res, "unread");
    };
    socket.write(post("one") + post("two"));
    expect(await answers(2)).to.deep.equal(["<unread>", "<unread>"]);
    handle = (_, res) => answer(res, `${ended} ended`);
    socket.write(post("three"));
    expect(await answers(1)).to.deep.equal(["<2 ended>"]);
  });

  it("is a complete stream for code that reads it, at once or later", async () => {
    handle = async (req, res) => answer(res, await text(req));
    socket.write(post("one"));
    expect(await answers(1)).to.deep.equal(["<one>"]);
    handle = async (req, res) => {
      await new Promise(setImmediate);
      answer(res, await text(req));
    };
    socket.write(post("two") + post("three"));
    expect(await answers(2)).to.deep.equal(["<two>", "<three>"]);
  });

  it("leaves a body that arrives later or in pieces as a stream", async () => {
    handle = async (req, res) => {
      const first = taken(req);
      server.emit("begun");
      answer(res, `${first} ${await text(req)}`);
    };
    const begun = once(server, "begun");
    socket.write(post("", 6));
    await begun;
    socket.write("behind");
    expect(await answers(1)).to.deep.equal(["<none behind>"]);
    const again = once(server, "begun");
    socket.write(post("be", 6));
    await again;
    socket.write("hind");
    expect(await answers(1)).to.deep.equal(["<none behind>"]);
  });

  it("keeps nothing once it is being read as a stream", async () => {
    handle = async (req, res) => {
      server.emit("begun");
      answer(res, await text(req));
    };
    const begun = once(server, "begun");
    socket.write(post("", 6));
    await begun;
    socket.write("behind");
    expect(await answers(1)).to.deep.equal(["<behind>"]);
  });

  it("does not take one without a length, or one that is too long", async () => {
    handle = async (req, res) => answer(res, `${taken(req)} ${(await text(req)).length}`);
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n");
    socket.write(post(""));
    socket.write(post("x".repeat(70_000)));
    expect(await answers(3)).to.deep.equal(["<none 3>", "<none 0>", "<none 70000>"]);
  });
});
