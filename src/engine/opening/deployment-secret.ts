import { randomBytes } from "node:crypto";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";

const SECRET_BYTES = 32;
/** How often the secret is written again, in case the store was emptied under a running server, ms. */
const HEAL_MS = 30_000;

/**
 * A secret that all processes of a deployment share, created at its first start and kept in its store. If the store was
 * emptied, the first process to notice writes its secret back, and all others adopt that: they agree again within HEAL_MS.
 */
export class DeploymentSecret {
  /** Reads the secret, or stores this one if there is none. */
  readonly #claim: (proposal: string) => Promise<string>;
  readonly #connection: Connection;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #look = () => void this.#heal();
  #value: string;

  private constructor(
    claim: (proposal: string) => Promise<string>,
    connection: Connection,
    log: Logger,
    value: string,
  ) {
    this.#claim = claim;
    this.#connection = connection;
    this.#log = log;
    this.#value = value;
    this.#timer = setInterval(this.#look, HEAL_MS).unref();
    connection.on("ready", this.#look);
  }

  /**
   * Reads the secret, or creates it.
   * @param connection the secret is read again after each reconnection, since the store may have lost its data
   * @throws ProblemError store-unavailable
   */
  static async open(scripts: Scripts, keys: Keys, connection: Connection, log: Logger): Promise<DeploymentSecret> {
    const claim = (proposal: string) => scripts.secret(keys.tag(0), { proposal });
    return new DeploymentSecret(claim, connection, log, await claim(randomBytes(SECRET_BYTES).toString("base64url")));
  }

  get value(): string {
    return this.#value;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#connection.off("ready", this.#look);
  }

  async #heal(): Promise<void> {
    try {
      const stored = await this.#claim(this.#value);
      if (stored === this.#value) return;
      this.#value = stored;
      this.#log.warn(
        "deployment secret: it has changed in the store, which may have been emptied; Idempotency-Keys now give other ids",
      );
    } catch (error) {
      this.#log.debug({ reason: messageOf(error) }, "deployment secret: could not read it from the store; retrying");
    }
  }
}
