/**
 * The process of the embedded store: `fork(this, [port, beatMs])`, which is then sent its password. It sends `{ ready: true }`
 * when it is ready, `{ failed }` if it cannot start, and the heartbeat `{ alive: true }` every `beatMs`, which shows that no
 * script blocks it.
 */
import { once } from "node:events";
import net from "node:net";
import { messageOf } from "../../../errors.ts";
import { ValkeyWasm } from "./valkey-wasm.ts";

/** Messages from the process to its parent. */
export type EmbeddedMessage = { ready: true } | { alive: true } | { failed: string; code?: string | undefined };

/** The first message from the parent to the process. */
export interface EmbeddedOrder {
  /** Letters and digits. */
  readonly password: string;
}

/**
 * Inline commands, as Valkey accepts them from a terminal. 512 MB, because Valkey hangs when it reaches the 2 GiB limit of its
 * 32-bit memory; no saving, because there is no file system. Clients that connected before the password was set are
 * disconnected.
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

// Ctrl-C and a supervisor's SIGTERM reach this process too; it ignores them, since the parent drains first and then
// disconnects.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));

const [{ password }] = (await once(process, "message")) as [EmbeddedOrder];
const valkey = new ValkeyWasm(port, {
  onEnd: fail,
  // During an endless script no event arrives, not even the parent's exit; without this check the process would outlive it.
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
