import { Redis } from "ioredis";
import { libraryText } from "../../../src/store/library/library.ts";

/** Mistakes in the Lua that a simulation must find: a line of it, and what stands there instead. */
export const PLANTS: Readonly<Record<string, readonly [line: string, mistake: string]>> = {
  "fence-not-checked": [
    "if run and (string.find(run, fence .. ' 0 ', 1, true) == 1 or string.find(run, fence .. ' +0 ', 1, true) == 1) then",
    "if run then",
  ],
  "lost-zrem": [
    "redis.call('ZREM', state == S.waiting and K.waiting(call, queue) or K.scheduled(call, queue), id)",
    "",
  ],
  "lease-not-removed": ["redis.call('ZREM', K.leases(call, queue), unpack(ends.ids))", ""],
  "key-not-freed": ["if extra then Keyed.free(call, ends.queue, id, extra) end", ""],
  "not-put-back": ["Line.put_back(call, queue, id, place, of_key)", ""],
};

/**
 * Plants a mistake in the library on its way to the store.
 * @param name one of {@link PLANTS}
 */
export function plant(name: string): void {
  const [line, mistake] = PLANTS[name] ?? [];
  if (line === undefined || mistake === undefined)
    throw new Error(`there is no mistake ${name}; there are ${Object.keys(PLANTS).join(", ")}`);
  const { text } = libraryText({ sharded: false, strictResultTtl: false, parts: [] });
  const count = text.split(line).length - 1;
  if (count !== 1) throw new Error(`the Lua has this line ${count} times, not once: ${line}`);
  const { sendCommand } = Redis.prototype;
  Redis.prototype.sendCommand = function (this: Redis, command, ...rest) {
    const { name, args } = command as unknown as { name: string; args: unknown[] };
    if (name === "function" && String(args[0]).toUpperCase() === "LOAD")
      args[args.length - 1] = String(args.at(-1)).replace(line, () => mistake);
    return sendCommand.call(this, command, ...rest);
  };
}
