import { extname } from "node:path";
import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import type { Api } from "../api.ts";
import { headerRefs } from "../openapi/responses.ts";
import { type Route, WATCH } from "../route.ts";
import { observe } from "./find.ts";
import { fitType, setBody } from "./reply-result.ts";

/** The input of a task. */
export function inputRoutes(api: Api): readonly Route[] {
  return [
    {
      name: "input",
      method: "GET",
      path: "/v1/requests/:id/input",
      scopes: WATCH,
      tag: "Watch",
      summary: "The input of a task, as it was submitted",
      description:
        "As a file to be saved. It is kept as long as the result, unless the handler says otherwise; after that: 410 `expired`.",
      answers: {
        "200": {
          description: "The input.",
          headers: headerRefs("Content-Disposition"),
          content: { "*/*": {} },
        },
      },
      run: (ctx) => replyInput(ctx, api, ctx.params.id ?? ""),
    },
  ];
}

/** Answers with the stored bytes of the input, as a file to be saved. @throws ProblemError unknown, deleted, expired */
async function replyInput(ctx: Context, api: Api, id: string): Promise<void> {
  const { queue, expired } = await observe(ctx, api, id);
  const stored = expired ? null : await storedInput(api, id, queue);
  const value = stored && (await api.engine.values.inputInPieces(stored, queue));
  if (!stored || !value) throw new ProblemError("expired", "The input of the task is gone.", { extensions: { id } });
  const { mediaType } = stored;
  ctx.attachment(fileNameOf(id, mediaType));
  // The input may come from strangers: if a browser shows it anyway, it must not run scripts.
  ctx.set("Content-Security-Policy", "sandbox");
  setBody(ctx, value);
  ctx.set("Content-Type", fitType(mediaType));
}

/** Ids of the server's own tasks have colons, which some systems do not allow in file names. */
function fileNameOf(id: string, mediaType: string): string {
  const name = id.replaceAll(":", "_");
  const [, kind = ""] = /^[a-z]+\/(?:[\w.-]+\+)?([a-z0-9]+)\b/i.exec(mediaType) ?? [];
  const extension = kind.toLowerCase() === "plain" ? "txt" : kind.toLowerCase();
  return extension === "" || extname(name) === `.${extension}` ? name : `${name}.${extension}`;
}

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
