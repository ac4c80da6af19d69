import { Redis } from "ioredis";
import { luaFiles, luaMutants, mutated } from "../mutants/lua/files.ts";

/** Mistakes in the Lua that a simulation must find, as test/mutants makes them. */
const PLANTS: Readonly<Record<string, { readonly file: string; readonly before: string }>> = {
  "fence-not-checked": { file: "lua/completion.lua", before: "if held_under ~= fence then return 'stale' end" },
  "lost-zrem": {
    file: "lua/settle.lua",
    before: "redis.call('ZREM', state == S.waiting and K.waiting(call, queue) or K.scheduled(call, queue), id)",
  },
};

/**
 * Plants a mistake in the library on its way to the store.
 * @param name one of {@link PLANTS}, or the place of any mutant: `lua/settle.lua:96`
 */
export function plant(name: string): void {
  const files = luaFiles();
  const known = PLANTS[name];
  const mutant = luaMutants(files).find(({ file, line, before }) =>
    known ? file === known.file && before === known.before : `${file}:${line}` === name,
  );
  if (!mutant) throw new Error(`there is no mutant ${name}; there are ${Object.keys(PLANTS).join(", ")}`);
  const original = files.get(mutant.file) ?? "";
  const { sendCommand } = Redis.prototype;
  Redis.prototype.sendCommand = function (this: Redis, command, ...rest) {
    const { name, args } = command as unknown as { name: string; args: unknown[] };
    if (name === "function" && String(args[0]).toUpperCase() === "LOAD")
      args[args.length - 1] = String(args.at(-1)).replace(original, () => mutated(original, mutant));
    return sendCommand.call(this, command, ...rest);
  };
}
