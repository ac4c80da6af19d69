/**
 * The embedded store's process: `fork(this, [port, beatMs])`, which is then sent the password that it is to ask for. It says `{ ready: true }` when it answers, `{ failed }` when
 * it cannot, and `{ alive: true }` every `beatMs`, by which its parent sees that no script has frozen it.
 */
import { once } from "node:events";
import net from "node:net";
import { messageOf } from "../../errors.ts";
import { ValkeyWasm } from "./valkey-wasm.ts";

/** What the process says to its parent. */
export type EmbeddedMessage = { ready: true } | { alive: true } | { failed: string; code?: string | undefined };

/** What the parent says to the process, first of all. */
export interface EmbeddedOrder {
  /** Letters and digits. */
  readonly password: string;
}

/**
 * 512 MB because at 2 GiB the 32-bit memory ends and Valkey hangs; without a file system there is nothing to save to.
 * Inline commands, as Valkey takes them from a terminal. Whoever has connected before the password was set is turned out.
 */
const settings = (password: string) =>
  [
    `CONFIG SET maxmemory 512mb maxmemory-policy noeviction stop-writes-on-bgsave-error no requirepass ${password}`,
    "CLIENT KILL SKIPME yes",
    "",
  ].join("\r\n");

const port = Number(process.argv[2]);
const beatMs = Number(process.argv[3]);
const parent = process.ppid;

const say = (message: EmbeddedMessage, said: () => void = () => {}) => process.send?.(message, () => said());
const fail = (error: unknown) => {
  const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
  say({ failed: messageOf(error), code }, () => process.exit(1));
};

// Ctrl-C and a supervisor's SIGTERM reach this process too; the parent drains first and then hangs up.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));

const [{ password }] = (await once(process, "message")) as [EmbeddedOrder];
const valkey = new ValkeyWasm(port, {
  onEnd: fail,
  // In an endless script no event comes, not even the parent's end; without this the process would outlive it for ever.
  onBusy: () => {
    if (process.ppid !== parent) process.exit(1);
  },
});

try {
  await valkey.start();
  const socket = net.connect(port, "127.0.0.1");
  socket.write(settings(password));
  let reply = "";
  for await (const chunk of socket) {
    reply += String(chunk);
    if (reply.split("\r\n").length > 2) break;
  }
  if (!/^\+OK\r\n:\d+\r\n$/.test(reply)) throw new Error(`Valkey refused its settings: ${reply.trim()}`);
  say({ ready: true });
  setInterval(() => say({ alive: true }), beatMs);
} catch (error) {
  fail(error);
}
