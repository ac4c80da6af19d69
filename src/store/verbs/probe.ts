import { named, names, verb } from "./codec.ts";
import { list, text } from "./reply.ts";

/** A command that the store does not allow its user. */
export interface RefusedCommand {
  readonly command: string;
  /** The error of the store. */
  readonly said: string;
}

const REFUSED = names<RefusedCommand>("command", "said");

/** Tries every command that scripts use; returns those that the user may not run. Writes, and removes what it has written. */
export const probe = verb({
  layout: { args: ["publish"], refused: REFUSED },
  write: (publish: "PUBLISH" | "SPUBLISH") => [publish],
  read: (replies): RefusedCommand[] =>
    list(replies).map((reply) => {
      const { command, said } = named(REFUSED, reply);
      return { command: text(command), said: text(said) };
    }),
});
