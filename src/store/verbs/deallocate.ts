import type { Script } from "./script.ts";

/** Releases an allocated id. */
export const deallocate =
  (script: Script) =>
  async (tag: string, id: string, queue: string): Promise<void> => {
    await script.text(tag, [id, queue]);
  };
