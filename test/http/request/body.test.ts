import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect } from "chai";
import { z } from "zod";
import { ProblemError } from "../../../src/errors.ts";
import { readBytes, readJson } from "../../../src/http/request/body.ts";

describe("the body of a request", () => {
  let server: Server;
  let socket: Socket;
  let read: Promise<Buffer | ProblemError>;

  beforeEach(async () => {
    server = createServer((req, res) => {
      const bytes = readBytes(req, 10);
      server.emit("began");
      read = bytes.catch((error: ProblemError) => error);
      void read.then(() => res.end());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  });
  afterEach(() => {
    socket.destroy();
    server.close();
  });

  const head = (length: string) => `POST / HTTP/1.1\r\nHost: a\r\n${length}\r\n\r\n`;
  const send = async (...pieces: string[]) => {
    const began = once(server, "began");
    for (const piece of pieces) socket.write(piece);
    await began;
  };
  const code = async () => {
    const outcome = await read;
    return outcome instanceof ProblemError ? outcome.code : outcome.toString();
  };

  it("is not read any further once it is too long", async () => {
    const checks: string[] = [];
    const picky = z.unknown().refine((value) => {
      checks.push(JSON.stringify(value));
      return false;
    });
    server.removeAllListeners("request");
    const over = new Promise<string>((resolve) => {
      server.on("request", (req, res) => {
        readJson(req, picky, 10).catch((error: ProblemError) => {
          req.on("end", () => resolve(error.code));
          res.end();
        });
      });
    });
    // What has come within the limit would be whole JSON, and unfit.
    socket.write(`${head("Transfer-Encoding: chunked")}2\r\n{}\r\n`);
    socket.write(`a\r\n${" ".repeat(10)}\r\n0\r\n\r\n`);
    expect(await over).to.equal("payload-too-large");
    expect(checks).to.deep.equal([]);
  });

  it("is reported as incomplete if the connection ends within it", async () => {
    await send(`${head("Content-Length: 10")}four`);
    socket.destroy();
    expect(await code()).to.equal("invalid-parameter");
  });

  it("is reported as incomplete if the connection ended before it was read", async () => {
    server.removeAllListeners("request").once("request", (req) => {
      req.on("close", () => {
        read = readBytes(req, 10).catch((error: ProblemError) => error);
        server.emit("began");
      });
      socket.destroy();
    });
    await send(`${head("Content-Length: 10")}four`);
    expect(await code()).to.equal("invalid-parameter");
  });
});
