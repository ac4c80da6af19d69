import { defineHandler } from "paihao";

/** Does nothing, so that what is measured is the server. Takes any JSON, as the peers do. */
export const noop = defineHandler({ queue: "default", run: () => ({ ok: true }) });
