import type { Context } from "koa";
import { linkTo, prefixOf } from "../../http/request/forwarded.ts";
import { addressOf } from "./assets.ts";

/** Nothing but what this server serves itself (CSP Level 3). */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'"],
].join("; ");

/** A page for people. */
export interface Page {
  readonly title: string;
  /** Its style sheet and script, see PAGE_FILES in scripts/build.ts. */
  readonly style: string;
  readonly script?: string;
  /** After how many seconds it reloads itself: "" for never. With a script, only where that does not run. */
  readonly refresh?: string;
  readonly body: Html;
  /** Origins of pages that may show it in a frame; no others, not even ours. */
  readonly frames?: readonly string[];
  /** Where images may come from beside this server. */
  readonly images?: "blob:";
}

/** Answers with a page: what all pages have in common, and its own. */
export function replyPage(ctx: Context, page: Page): void {
  const { title, style, script, refresh = "", body, frames = [], images = "" } = page;
  const ancestors = frames.length > 0 ? frames.join(" ") : "'none'";
  ctx.set("Content-Security-Policy", `${POLICY}; ${`img-src 'self' ${images}`.trim()}; frame-ancestors ${ancestors}`);
  // The address of a page may grant access by itself, so it is sent to nobody.
  ctx.set("Referrer-Policy", "no-referrer");
  const reload = refresh === "" ? "" : html`<meta http-equiv="refresh" content="${refresh}">`;
  const loaded =
    script === undefined
      ? reload
      : html`<script src="${linkTo(ctx, addressOf(script))}" type="module"></script>
    <noscript>${reload}</noscript>`;
  ctx.type = "text/html; charset=utf-8";
  ctx.body = html`<!doctype html>
<html lang="en" data-prefix="${prefixOf(ctx)}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex, nofollow">
    <title>${title}</title>
    <link rel="icon" href="${linkTo(ctx, "/favicon.ico")}" type="image/svg+xml">
    <link rel="stylesheet" href="${linkTo(ctx, addressOf(style))}">
    ${loaded}
  </head>
  <body>${body}</body>
</html>
`.text;
}

/** HTML, so that {@link html} inserts it as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** HTML. Inserted text is escaped for contents and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(textOf)));
}

function textOf(value: Value): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join("");
  return String(value).replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
