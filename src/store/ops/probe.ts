import { jsonVerb } from "../library/verb.ts";

/** A command that the store does not allow its user. */
export interface RefusedCommand {
  readonly command: string;
  /** The error of the store. */
  readonly said: string;
}

/** Tries every command that scripts use; returns those that the user may not run. Writes, and removes what it has written. */
export const probe = jsonVerb<{ readonly publish: "PUBLISH" | "SPUBLISH" }, readonly RefusedCommand[]>();
