import { KeyRing } from "../../auth/key-ring.ts";
import { type Config, misspeltVariables } from "../../config/config.ts";
import { messageOf, StartError } from "../../errors.ts";
import { createLog } from "../../log.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

/** Variables that are probably misspelt: the server ignores them silently. */
export function checkVariables(): Finding[] {
  return misspeltVariables().map(({ name, meant }) =>
    warning(
      "settings",
      `nothing reads ${name}`,
      meant === undefined ? "remove it" : `did you mean ${meant}? Rename it`,
    ),
  );
}

/** Whether the API keys can be read, as the server reads them; undefined if there is no key file. */
export function checkKeys({ apiKeys, apiKeysFile }: Pick<Config, "apiKeys" | "apiKeysFile">): Finding | undefined {
  if (apiKeysFile === undefined) return undefined;
  try {
    new KeyRing(apiKeys, apiKeysFile, { log: createLog("silent") });
    return ok("keys", `read from ${apiKeysFile}`);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return failure("keys", messageOf(error), "correct API_KEYS_FILE; paihao keys create adds a key to it");
  }
}
