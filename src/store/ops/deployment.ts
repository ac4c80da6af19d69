import { jsonVerb } from "../library/verb.ts";

/** What the processes of a deployment have to agree on. */
export interface Claim {
  /** Of the layout of the data. */
  readonly version: number;
  /** The release that has used it last; "" if unknown. */
  readonly release: string;
  readonly partitions: number;
  readonly secret: string;
}

/** Writes what is not there, unless the data is of another version; returns what is stored. `tag` is that of partition 0. */
export const claim = jsonVerb<Claim, Claim>();

/** Notes the library that a start uses; returns the latest ones, newest first. `tag` is that of partition 0. */
export const libraries = jsonVerb<{ readonly name: string }, readonly string[]>();

/** A command that the store does not allow its user. */
export interface RefusedCommand {
  readonly command: string;
  /** The error of the store. */
  readonly said: string;
}

/** Tries every command that scripts use; returns those that the user may not run. Writes, and removes what it has written. */
export const probe = jsonVerb<{ readonly publish: "PUBLISH" | "SPUBLISH" }, readonly RefusedCommand[]>();
