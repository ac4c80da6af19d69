/**
 * The process of the embedded store: `fork(this, [socket, beatMs])`. It sends `{ ready: true }` when it is ready, `{ failed }` if
 * it cannot start, and the heartbeat `{ alive: true }` every `beatMs`, which shows that no script blocks it.
 */
import { rmSync } from "node:fs";
import net from "node:net";
import { messageOf } from "../../../errors.ts";
import { removeSocket } from "../socket.ts";
import { ValkeyWasm } from "./valkey-wasm.ts";

/** Messages from the process to its parent. */
export type EmbeddedMessage = { ready: true } | { alive: true } | { failed: string };

/**
 * Inline commands, as Valkey accepts them from a terminal. 512 MB, because Valkey hangs when it reaches the 2 GiB limit of its
 * 32-bit memory; no saving, because there is no file system.
 */
const SETTINGS = "CONFIG SET maxmemory 512mb maxmemory-policy noeviction stop-writes-on-bgsave-error no\r\n";

const socketPath = process.argv[2] ?? "";
const beatMs = Number(process.argv[3]);
const parent = process.ppid;

const say = (message: EmbeddedMessage, said: () => void = () => {}) => process.send?.(message, () => said());
const fail = (error: unknown) => say({ failed: messageOf(error) }, () => process.exit(1));

// Ctrl-C and a supervisor's SIGTERM reach this process too; it ignores them, since the parent drains first and then
// disconnects.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
const leave = () => {
  removeSocket(socketPath);
  process.exit(0);
};
process.on("disconnect", leave);
// It may have ended before that was listened to.
if (!process.connected) leave();

const valkey = new ValkeyWasm(socketPath, {
  onEnd: fail,
  // During an endless script no event arrives, not even the parent's exit; without this check the process would outlive it.
  onBusy: () => {
    if (process.ppid !== parent) leave();
  },
});

try {
  // A killed process may have left it behind.
  rmSync(socketPath, { force: true });
  await valkey.start();
  const socket = net.connect(socketPath);
  socket.write(SETTINGS);
  let reply = "";
  for await (const chunk of socket) {
    reply += String(chunk);
    if (reply.includes("\r\n")) break;
  }
  if (reply !== "+OK\r\n") throw new Error(`Valkey refused its settings: ${reply.trim()}`);
  say({ ready: true });
  setInterval(() => say({ alive: true }), beatMs);
} catch (error) {
  fail(error);
}
