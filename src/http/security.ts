import { KeyRing } from "../auth/key-ring.ts";
import type { LinkSigner } from "../auth/link-signer.ts";
import type { Config } from "../config/config.ts";
import type { Logger } from "../log.ts";
import { connect } from "../store/connection.ts";
import type { Keys } from "../store/keys.ts";
import { RateLimit } from "./middleware/rate-limit.ts";

/** Access control and rate limit; absent members are off. */
export interface Security {
  readonly keyRing?: KeyRing;
  readonly signer?: LinkSigner;
  readonly rateLimit?: RateLimit;
  readonly corsOrigins: readonly string[];
}

/** {@link Security} with its open resources. */
export interface OpenedSecurity extends Security {
  close(): void;
}

type SecurityConfig = Pick<Config, "host" | "apiKeys" | "apiKeysFile" | "rateLimit" | "corsOrigins">;

/**
 * Creates it from the configuration.
 * @throws StartError if the file of keys is invalid
 */
export async function openSecurity(
  config: SecurityConfig,
  { url, keys, signer, log }: { url: string; keys: Keys; signer: LinkSigner | undefined; log: Logger },
): Promise<OpenedSecurity> {
  const { apiKeys, apiKeysFile, rateLimit } = config;
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  const keyRing = hasKeys ? new KeyRing(apiKeys, apiKeysFile, { log }) : undefined;
  // Its own connection, so that counting does not wait behind large values.
  const redis = rateLimit && (await connect(url, "limits", log));
  return {
    ...(keyRing && { keyRing }),
    ...(signer && { signer }),
    ...(redis && rateLimit && { rateLimit: new RateLimit(rateLimit, { redis, keys, log }) }),
    corsOrigins: config.corsOrigins,
    close: () => redis?.disconnect(),
  };
}
