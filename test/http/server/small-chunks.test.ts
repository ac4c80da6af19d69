import { once } from "node:events";
import net from "node:net";
import { expect } from "chai";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeys } from "../../helpers/store/scan.ts";

/** How many chunks are written at once, so that sending is not the slow part. */
const TOGETHER = 20_000;

/** Kept as separate chunks, each byte would take hundreds of bytes: more than this heap has. */
const HEAP_MB = 96;
const BYTES = 600_000;

/** Sends a body of that many bytes in chunks of one byte; resolves with the whole response. */
async function sendByBytes(url: string, path: string, type: string, bytes: number): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  const answer: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => answer.push(chunk));
  const closed = once(socket, "close");
  socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\nPrefer: respond-async\r\n`);
  socket.write('Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n"\r\n');
  for (let sent = 2; sent < bytes; sent += TOGETHER) {
    const some = "1\r\nx\r\n".repeat(Math.min(TOGETHER, bytes - sent));
    if (!socket.write(some)) await Promise.race([once(socket, "drain"), closed]);
  }
  socket.write('1\r\n"\r\n0\r\n\r\n');
  await closed;
  return Buffer.concat(answer).toString("latin1");
}

describe("a body that arrives in chunks of one byte", function () {
  // Node itself needs some seconds for so many chunks on a busy machine.
  this.timeout(60_000);
  let server: ServerProcess;
  const prefix = uniquePrefix();
  before(async () => {
    server = await startProcess({
      ...{ NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`, ROLE: "api", PORT: "0", KEY_PREFIX: prefix },
      ...{ HANDLERS: "test/fixtures/handlers", MAX_BODY: "2mb" },
    });
  });
  after(async () => {
    await endProcesses([server]);
    await removeKeys(storeUrl(), prefix);
  });

  it("takes no more memory than its bytes", async () => {
    const path = "/v1/queues/default/requests";
    expect(await sendByBytes(server.url, path, "application/json", BYTES)).to.match(/^HTTP\/1\.1 202 /);
  });

  it("takes no more memory as a line of a batch", async () => {
    const path = "/v1/queues/default/batches";
    const answer = await sendByBytes(server.url, path, "application/x-ndjson", BYTES);
    expect(answer)
      .to.match(/^HTTP\/1\.1 202 /)
      .and.to.contain('{"line":0,"id":');
  });
});
