import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseRedisUrl } from "../../../src/config/redis-url.ts";

/** What another user of the machine tries without pause: to reach a store, or to take its place. */
const CODE = `
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const [socket] = process.argv.slice(1);
const folder = path.dirname(socket);
const say = (text) => process.stdout.write(text + "\\n");
const trials = {
  unlink: () => fs.unlinkSync(socket),
  rename: () => fs.renameSync(folder, folder + "-away"),
  enter: () => fs.readdirSync(folder),
};
const listen = () => {
  const server = net.createServer((client) => client.on("data", (data) => say("heard " + data)));
  server.on("error", () => setImmediate(listen)).listen(socket, () => say("listens"));
};
const connect = () => {
  const client = net.connect(socket, () => say("connected"));
  client.on("error", () => setImmediate(connect));
};
let rounds = 0;
setInterval(() => {
  for (const [name, trial] of Object.entries(trials)) try { trial(); say(name); } catch {}
  if (++rounds === 10) say("tries");
}, 1);
listen();
connect();
`;

/** Lets another user try while something happens to the store; returns what that achieved. Only root can. */
export async function withIntruder(url: string, work: () => Promise<void>): Promise<string[]> {
  const address = parseRedisUrl(url);
  if (address.kind !== "socket") throw new Error("the store has no socket");
  const intruder = spawn(process.execPath, ["-e", CODE, address.path], {
    ...{ uid: 65_534, gid: 65_534, cwd: "/" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  intruder.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const closed = once(intruder, "close");
  try {
    while (!said.includes("tries\n")) await once(intruder.stdout, "data");
    await work();
  } finally {
    intruder.kill("SIGKILL");
    await closed;
  }
  return said.split("\n").filter((line) => line !== "" && line !== "tries");
}
