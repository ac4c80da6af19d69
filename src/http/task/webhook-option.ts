import type { Api } from "../api.ts";
import { oneParameter } from "./submit-options.ts";

/**
 * The webhook that a submission asks for; null for none. Under an id that is known nothing is stored, and the webhook stays
 * what it was: then no name server is asked.
 * @param id of the one task that is submitted; left out where there are several
 * @throws PaihaoError invalid-parameter when it may not be told
 */
export async function readWebhook(search: URLSearchParams, api: Api, id?: string): Promise<string | null> {
  const given = oneParameter(search, "webhook");
  if (given === null) return null;
  const known = id !== undefined && (await api.engine.inspect(id, { result: false })) !== null;
  return known ? given : api.checkWebhook(given);
}
