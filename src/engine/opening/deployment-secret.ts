import { randomBytes } from "node:crypto";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import type { Connection } from "../../store/connection.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/verbs/scripts.ts";

const SECRET_BYTES = 32;
/** How often the secret is written again, in case the store was emptied under a running server, ms. */
const HEAL_MS = 30_000;

/** The dependencies of a {@link DeploymentSecret}. */
export interface SecretParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  /** The secret is read again after each reconnection, since the store may have lost its data. */
  readonly connection: Connection;
  readonly log: Logger;
}

/**
 * A secret that all processes of a deployment share, created at its first start and kept in its store. If the store was
 * emptied, the first process to notice writes its secret back, and all others adopt that: they agree again within HEAL_MS.
 */
export class DeploymentSecret {
  readonly #parts: SecretParts;
  readonly #timer: NodeJS.Timeout;
  readonly #look = () => void this.#heal();
  #value: string;

  private constructor(parts: SecretParts, value: string) {
    this.#parts = parts;
    this.#value = value;
    this.#timer = setInterval(this.#look, HEAL_MS).unref();
    parts.connection.on("ready", this.#look);
  }

  /** Reads the secret, or creates it. @throws ProblemError store-unavailable */
  static async open(parts: SecretParts): Promise<DeploymentSecret> {
    return new DeploymentSecret(parts, await claim(parts, randomBytes(SECRET_BYTES).toString("base64url")));
  }

  get value(): string {
    return this.#value;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#parts.connection.off("ready", this.#look);
  }

  async #heal(): Promise<void> {
    const { log } = this.#parts;
    try {
      const stored = await claim(this.#parts, this.#value);
      if (stored === this.#value) return;
      this.#value = stored;
      log.warn(
        "deployment secret: it has changed in the store, which may have been emptied; Idempotency-Keys now give other ids",
      );
    } catch (error) {
      log.debug({ reason: messageOf(error) }, "deployment secret: could not read it from the store; retrying");
    }
  }
}

function claim({ scripts, keys }: SecretParts, proposal: string): Promise<string> {
  return scripts.secret(keys.tag(0), { proposal });
}
