import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import Koa from "koa";
import { HttpServer } from "../../../src/http/server/server.ts";
import { eventually } from "../../shared/eventually.ts";

const REQUESTS = 100;

describe("requests that a client sends without waiting for answers", () => {
  let server: HttpServer;
  let socket: net.Socket;
  let begun: string[];
  let ends: (() => void)[];
  let max: number;
  let gone: number;

  beforeEach(async () => {
    [begun, ends, max, gone] = [[], [], 0, 0];
    const app = new Koa();
    let underway = 0;
    app.use(async (ctx) => {
      begun.push(ctx.path);
      ctx.res.once("close", () => {
        gone += 1;
      });
      underway += 1;
      max = Math.max(max, underway);
      await new Promise<void>((resolve) => ends.push(resolve));
      underway -= 1;
      ctx.body = `${ctx.path};`;
    });
    server = new HttpServer(app, { host: "127.0.0.1", port: 0 });
    await server.start();
    socket = net.connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    const head = (n: number) => `${n % 2 ? "POST" : "GET"} /${n} HTTP/1.1\r\nHost: a\r\n`;
    const requests = Array.from({ length: REQUESTS }, (_, n) =>
      n % 2 ? `${head(n)}Content-Length: 2\r\n\r\n{}` : `${head(n)}\r\n`,
    );
    socket.write(requests.join(""));
    await eventually(() => ends.length > 1);
  });
  afterEach(async () => {
    socket.destroy();
    for (const end of ends) end();
    await server.stop();
  });

  it("are handled a few at a time, and all answered in their order", async () => {
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
    });
    const paths = Array.from({ length: REQUESTS }, (_, n) => `/${n}`);
    await eventually(() => {
      // The latest first: answers wait for those before them.
      while (ends.length > 0) ends.pop()?.();
      return text.includes(`/${REQUESTS - 1};`);
    });
    expect(begun).to.deep.equal(paths);
    expect(text.match(/\/\d+(?=;)/g)).to.deep.equal(paths);
    expect(max).to.be.within(2, 8);
  });

  it("are not handled when it has gone", async () => {
    await eventually(() => begun.length === 8);
    socket.destroy();
    await eventually(() => gone === begun.length);
    while (ends.length > 0) ends.pop()?.();
    const next = net.connect(server.port, "127.0.0.1");
    next.write("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await eventually(() => begun.includes("/next"));
    while (ends.length > 0) ends.pop()?.();
    await once(next.resume(), "close");
    expect(begun).to.have.length(9);
  });
});
