import { named, names, verb, verbOnOne, written } from "./codec.ts";
import { number, text } from "./reply.ts";

/** What the processes of a deployment have to agree on. */
export interface Claim {
  /** Of the layout of the data. */
  readonly version: number;
  /** The release that has used it last; "" if unknown. */
  readonly release: string;
  readonly partitions: number;
  readonly secret: string;
}

const CLAIM = names<Claim>("version", "release", "partitions", "secret");

/** Writes what is not there, unless the data is of another version; returns what is stored. `tag` is that of partition 0. */
export const claim = verb({
  layout: { args: CLAIM, answer: CLAIM },
  write: (of: Claim) => written(CLAIM, of),
  read: (reply): Claim => {
    const { version, release, partitions, secret } = named(CLAIM, reply);
    return {
      version: number(version),
      release: text(release),
      partitions: number(partitions),
      secret: text(secret),
    };
  },
});

/** Notes the library that a start uses; returns the latest ones, newest first. `tag` is that of partition 0. */
export const libraries = verbOnOne<{ readonly name: string }, readonly string[]>(["name"], (reply) =>
  text(reply).split(" "),
);
