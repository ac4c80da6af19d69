import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import { createInterface } from "node:readline";
import { expect } from "chai";
import { reservePort } from "./ports.ts";
import { ROOT } from "./root.ts";

const EACH = 100;
const ASKER = `
import { reservePort } from "./test/shared/ports.ts";
const ports = await Promise.all(Array.from({ length: ${EACH} }, reservePort));
console.log(JSON.stringify(ports));
process.stdin.resume();
`;

describe("a reserved port", () => {
  it("belongs to one process among several that ask at once", async () => {
    const args = ["--import", "tsx", "--input-type=module", "-e", ASKER];
    const askers = Array.from({ length: 3 }, () =>
      spawn(process.execPath, args, { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] }),
    );
    const lines = await Promise.all(askers.map(({ stdout }) => once(createInterface(stdout), "line")));
    for (const { stdin } of askers) stdin.end();
    const ports = lines.flatMap(([line]) => JSON.parse(line) as number[]);
    expect(new Set(ports).size).to.equal(3 * EACH);
  });

  it("is not one that the system hands out for port 0", async function () {
    if (process.platform !== "linux") return this.skip();
    const [low] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split("\t").map(Number);
    expect(await reservePort()).to.be.below(low ?? 0);
  });

  it("can be released and taken again", async () => {
    const port = await reservePort();
    for (let n = 0; n < 3; n += 1) {
      const server = net.createServer().listen(port, "127.0.0.1");
      await once(server, "listening");
      server.close();
      await once(server, "close");
    }
  });
});
