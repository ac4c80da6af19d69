import { errorEntries, ProblemError } from "../../../errors.ts";
import { prefersHtml } from "../../headers/accept.ts";
import { replyPage } from "../../pages/render.ts";
import { explain } from "../../problems/texts.ts";
import type { Endpoints } from "../../routes.ts";
import { responseOf } from "../../server/response.ts";

/** The targets of the `type` of problem documents: the explanation of a code, as JSON or as a page. */
export const problemEndpoints: Endpoints<"explain"> = {
  explain: (ctx) => {
    const entry = errorEntries.find(({ code }) => code === ctx.params.code);
    if (!entry) throw new ProblemError("not-found");
    const { example, ...explanation } = explain(entry.code);
    responseOf(ctx).varyBy("Accept");
    if (prefersHtml(ctx.get("Accept"))) {
      const { code, title, status } = explanation;
      return replyPage(ctx, "docs/problem.html", {
        code,
        title,
        status: String(status),
        meaning: plain(explanation.meaning),
        action: plain(explanation.action),
        example: JSON.stringify(example, null, 2),
      });
    }
    ctx.body = { ...explanation, example };
  },
};

/** Removes the backticks around code. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}
