import { randomBytes } from "node:crypto";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { Connection } from "../store/connection.ts";
import type { Keys } from "../store/keys.ts";
import type { Scripts } from "../store/scripts/scripts.ts";

const SECRET_BYTES = 32;
/** How often the secret is written again where the store has been emptied under a running server, ms. */
const HEAL_MS = 30_000;

/** What is needed to keep a {@link DeploymentSecret}. */
export interface SecretParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  /** The secret is looked at again whenever this has come back: perhaps to a store that has lost its data. */
  readonly connection: Connection;
  readonly log: Logger;
}

/**
 * A secret that all processes of a deployment share: made at its first start and kept in its store. A store that was emptied is
 * given it again by whichever process looks first, and all others take what is there: they agree again within HEAL_MS.
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

  /** Reads the secret, or makes it. @throws PaihaoError store-unavailable */
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
        "deployment secret: the store has another one than before, as if it had been emptied; Idempotency-Keys lead to new ids",
      );
    } catch (error) {
      log.debug({ reason: messageOf(error) }, "deployment secret: could not read it from the store; retrying");
    }
  }
}

function claim({ scripts, keys }: SecretParts, proposal: string): Promise<string> {
  return scripts.secret(keys.tag(0), proposal);
}
