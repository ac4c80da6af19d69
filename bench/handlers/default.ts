import { defineHandler } from "paihao";

/** Does nothing, so that only the server is measured. Accepts any JSON, as the peers do. */
export const noop = defineHandler({ queue: "default", run: () => ({ ok: true }) });
