import { type ApiKey, formatApiKey, identityOf, isExpired } from "../auth/api-key.ts";
import { KeyRing } from "../auth/key-ring.ts";
import type { LinkSigner } from "../auth/link-signer.ts";
import type { Config } from "../config/config.ts";
import type { Engine } from "../engine/engine.ts";
import type { Events } from "../engine/monitoring/events.ts";
import { KeyUses } from "../engine/monitoring/key-uses.ts";
import type { Logger } from "../log.ts";
import { connect } from "../store/connection.ts";
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
  /** Undefined without keys. */
  readonly keyUses: KeyUses | undefined;
  close(): Promise<void>;
}

type SecurityConfig = Pick<Config, "host" | "apiKeys" | "apiKeysFile" | "rateLimit" | "corsOrigins">;

/**
 * Creates it from the configuration.
 * @throws StartError if the file of keys is invalid
 */
export async function openSecurity(
  config: SecurityConfig,
  {
    url,
    signer,
    log,
    engine: { keys, scripts, events },
  }: {
    url: string;
    signer: LinkSigner | undefined;
    log: Logger;
    engine: Pick<Engine, "keys" | "scripts" | "events">;
  },
): Promise<OpenedSecurity> {
  const { apiKeys, apiKeysFile, rateLimit } = config;
  const hasKeys = apiKeys.length > 0 || apiKeysFile !== undefined;
  const keyRing = hasKeys ? new KeyRing(apiKeys, apiKeysFile, { log }) : undefined;
  const keyUses = keyRing && new KeyUses(keyRing, scripts, keys, log);
  keyUses?.start();
  const stopTelling = keyRing && tellKeys(keyRing, events);
  // Its own connection, so that counting does not wait behind large values.
  const redis = rateLimit && (await connect(url, "limits", log));
  return {
    ...(keyRing && { keyRing }),
    ...(signer && { signer }),
    ...(redis && rateLimit && { rateLimit: new RateLimit(rateLimit, { redis, keys, log }) }),
    corsOrigins: config.corsOrigins,
    keyUses,
    close: async () => {
      stopTelling?.();
      redis?.disconnect();
      await keyUses?.stop();
    },
  };
}

/** How often it is looked which keys there are, ms: also where nobody sends requests. */
const LOOK_MS = 2000;

/** Notes which API keys come, go and expire, each once, however many processes have them; returns a function that ends that. */
function tellKeys(keyRing: KeyRing, events: Pick<Events, "note">): () => void {
  /** Those that are accepted, by the line of each. */
  let known = new Map<string, ApiKey>();
  let isStart = true;
  const note = (kind: "key-added" | "key-removed" | "key-expired", key: ApiKey) => {
    const state = `key ${identityOf(key)}`;
    void events.note(isStart ? null : { kind, detail: key.name }, {
      phase: kind === "key-added" ? "begins" : "ends",
      state,
    });
  };
  const look = () => {
    keyRing.look();
    const all = new Map(keyRing.keys.map((key) => [formatApiKey(key), key]));
    const now = new Map([...all].filter(([, key]) => !isExpired(key)));
    for (const [line, key] of known) if (!now.has(line)) note(all.has(line) ? "key-expired" : "key-removed", key);
    for (const [line, key] of now) if (!known.has(line)) note("key-added", key);
    known = now;
  };
  look();
  isStart = false;
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
