import type { Api } from "../api.ts";
import { oneParameter } from "../input/parameters.ts";

/**
 * The webhook of a submission; null if it has none. If the id is known already, nothing is stored and the webhook does not
 * change, so its name is not resolved.
 * @param id of the task that is submitted; left out if there are several
 * @throws PaihaoError invalid-parameter if the URL is not allowed
 */
export async function readWebhook(search: URLSearchParams, api: Api, id?: string): Promise<string | null> {
  const given = oneParameter(search, "webhook");
  if (given === null) return null;
  const known = id !== undefined && (await api.engine.tasks.inspect(id, { result: false })) !== null;
  return known ? given : api.checkWebhook(given);
}
