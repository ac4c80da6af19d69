import type { Config } from "./config.ts";

/** The secrets among the settings, which must not appear in a log: as they were given, and decoded. */
export function secretsOf(config: Pick<Config, "redisUrl" | "urlSigningKey" | "webhookSecrets">): string[] {
  const { redisUrl = "", urlSigningKey = "", webhookSecrets } = config;
  // Not by the URL parser, which does not accept several hosts.
  const password = /^[a-z+]+:\/\/[^@/]*?:([^@]+)@/i.exec(redisUrl)?.[1] ?? "";
  const sentinels = /[?&]sentinel_password=([^&]+)/.exec(redisUrl)?.[1] ?? "";
  return [password, decoded(password), sentinels, decoded(sentinels), urlSigningKey, ...webhookSecrets].filter(
    (secret) => secret !== "",
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
