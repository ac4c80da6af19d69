/** The result of a check. */
export interface Finding {
  /** The name of the check, in a word or two. */
  readonly check: string;
  readonly level: "ok" | "warning" | "error";
  readonly message: string;
  /** What to do about it; undefined if there is nothing to do. */
  readonly advice?: string;
}

/** A finding that needs no advice. */
export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}

/** A finding that does not keep the server from working, but should be corrected. */
export function warning(check: string, message: string, advice: string): Finding {
  return { check, level: "warning", message, advice };
}

/** A finding that keeps the server from starting or from working. */
export function failure(check: string, message: string, advice: string): Finding {
  return { check, level: "error", message, advice };
}
