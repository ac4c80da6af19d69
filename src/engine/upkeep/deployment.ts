import { randomBytes } from "node:crypto";
import { messageOf, StartError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";
import type { Claim } from "../../store/ops/deployment.ts";
import { packageVersion } from "../../version.ts";

/**
 * The version of the layout of the data: the names and types of keys, the names of fields and members, and the form of what is in them.
 * Raised by every change after which one of two releases would misread, or miss, what the other has written. Such releases cannot share a
 * store. Not layout are the scripts, whose names carry a digest, and what is added so that its absence means what was before.
 */
export const DATA_VERSION = 6;

const SECRET_BYTES = 32;
/** How often the claim is renewed, in case the store was emptied under a running server, ms. */
const RENEW_MS = 5000;

/** What this process claims in the store. */
export function claimOf({ partitions }: Pick<Keys, "partitions">): Claim {
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  return { version: DATA_VERSION, release: packageVersion(), partitions, secret };
}

/**
 * What all processes of a deployment share: the layout of the data, the number of partitions, with another one of which tasks would be
 * looked for in the wrong places, and a secret. The first start writes it. If the store was emptied, the first process to notice writes it
 * back, and the others adopt its secret.
 */
export class Deployment {
  readonly #scripts: Scripts;
  readonly #keys: Keys;
  readonly #connection: Connection;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #look = () => void this.#renew();
  readonly #claim: Claim;
  #problem: string | undefined;
  /** What only its processes know. */
  readonly secret: { value: string };

  private constructor(scripts: Scripts, keys: Keys, connection: Connection, log: Logger, claim: Claim) {
    this.#scripts = scripts;
    this.#keys = keys;
    this.#connection = connection;
    this.#log = log;
    this.#claim = claim;
    this.secret = { value: claim.secret };
    this.#timer = setInterval(this.#look, RENEW_MS).unref();
    connection.on("ready", this.#look);
  }

  /**
   * Claims the store for what this process is configured with. Nothing is changed if that has data of another version.
   * @param connection the store is claimed again after each reconnection, since it may have lost its data
   * @throws StartError if the store is claimed for something else; ProblemError store-unavailable
   */
  static async open(scripts: Scripts, keys: Keys, connection: Connection, log: Logger): Promise<Deployment> {
    const claim = claimOf(keys);
    const stored = await scripts.claim(keys.tag(0), claim);
    const problem = versionProblem(stored, keys) ?? partitionsProblem(stored, keys);
    if (problem !== undefined) throw new StartError(problem);
    return new Deployment(scripts, keys, connection, log, { ...claim, secret: stored.secret });
  }

  /** Why this process cannot work with the store any more: it was emptied, and claimed for something else. */
  get problem(): string | undefined {
    return this.#problem;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#connection.off("ready", this.#look);
  }

  async #renew(): Promise<void> {
    try {
      const stored = await this.#scripts.claim(this.#keys.tag(0), { ...this.#claim, secret: this.secret.value });
      const problem = versionProblem(stored, this.#keys) ?? partitionsProblem(stored, this.#keys);
      if (problem !== undefined && problem !== this.#problem)
        this.#log.error(
          { reason: problem },
          "deployment: the store was emptied and claimed by others; stop this process",
        );
      this.#problem = problem;
      if (problem !== undefined || stored.secret === this.secret.value) return;
      this.secret.value = stored.secret;
      this.#log.warn(
        "deployment: its secret has changed in the store, which may have been emptied; Idempotency-Keys now give other ids",
      );
    } catch (error) {
      this.#log.debug({ reason: messageOf(error) }, "deployment: could not renew its claim on the store; retrying");
    }
  }
}

/** Why this release cannot work with the data that the store has; undefined if it can. Writes nothing. */
export async function dataVersionProblem(redis: Connection, keys: Keys): Promise<string | undefined> {
  const [version, release] = await Promise.all([redis.get(keys.dataVersion), redis.get(keys.release)]);
  return version === null ? undefined : versionProblem({ version: Number(version), release: release ?? "" }, keys);
}

function versionProblem(
  { version, release }: Pick<Claim, "version" | "release">,
  { prefix }: Pick<Keys, "prefix">,
): string | undefined {
  if (version === DATA_VERSION) return undefined;
  const what = `the store with KEY_PREFIX ${prefix} has data of version ${version}, and this release, ${packageVersion()}, works with version ${DATA_VERSION} only`;
  const writer = release === "" ? "the release that wrote it" : `release ${release}, which wrote it,`;
  return version > DATA_VERSION
    ? `${what}; start ${writer} or use another KEY_PREFIX`
    : `${what}; start this release with another KEY_PREFIX, and let ${writer} run until its tasks have ended and their results are collected`;
}

function partitionsProblem({ partitions }: Pick<Claim, "partitions">, keys: Keys): string | undefined {
  if (partitions === keys.partitions) return undefined;
  return `PARTITIONS is ${keys.partitions}, but the store with KEY_PREFIX ${keys.prefix} was first used with ${partitions}; expected ${partitions}`;
}
