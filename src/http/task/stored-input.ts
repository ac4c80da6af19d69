import type { Api } from "../api.ts";

/** What the store has of the input of a task. */
interface StoredInput {
  readonly id: string;
  /** Undefined if it is long: see `inputOf` and `inputInPieces` of the engine. */
  readonly input: Buffer | null;
  readonly inputBytes: number;
  readonly mediaType: string;
  /** The parameters for the handler. */
  readonly query: Readonly<Record<string, string>>;
}

/** The input of a task; null if it is no longer kept. @throws ProblemError store-unavailable */
export async function storedInput(
  { engine }: Pick<Api, "engine">,
  id: string,
  queue: string,
): Promise<StoredInput | null> {
  const details = await engine.call("details", { id, queue });
  if (!details || details.input === null) return null;
  const { input, mediaType, query } = details;
  const [short, inputBytes] = typeof input === "number" ? [null, input] : [input, 0];
  return { id, input: short, inputBytes, mediaType, query: query === "" ? {} : JSON.parse(query) };
}
