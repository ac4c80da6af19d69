import type { Context } from "koa";
import { ProblemError } from "../../errors.ts";
import { type Asset, makeAsset, replyAsset } from "../../http/asset.ts";
import { prefersHtml } from "../../http/request/accept.ts";
import { accessOf } from "../../http/request/access.ts";
import { linkTo } from "../../http/request/forwarded.ts";
import { READ, type Route } from "../../http/route.ts";
import { assetAt } from "./assets.ts";
import { html, replyPage } from "./page.ts";

const FAVICON = makeAsset(
  "image/svg+xml",
  Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Paihao</title><rect width="32" height="32" rx="7" fill="#0a5fb4"/><g fill="#fff"><circle cx="8" cy="16" r="4"/><circle cx="18" cy="16" r="3" opacity=".75"/><circle cx="26" cy="16" r="2" opacity=".5"/></g></svg>',
  ),
);

/** HTML pages and their files, all from this server, so that they work offline. */
export const pageRoutes: readonly Route[] = [
  { name: "home", method: "GET", path: "/", scopes: "none", run: replyHome },
  { name: "favicon", method: "GET", path: "/favicon.ico", scopes: "none", run: (ctx) => replyAsset(ctx, FAVICON) },
  { name: "dashboard", method: "GET", path: "/dashboard", scopes: READ, run: replyDashboard, showProblem: showRefusal },
  {
    name: "dashboardView",
    method: "GET",
    path: "/dashboard/{*view}",
    scopes: READ,
    run: replyDashboard,
    showProblem: showRefusal,
  },
  { name: "docs", method: "GET", path: "/docs", scopes: "none", run: replyDocs },
  {
    name: "pageFile",
    method: "GET",
    path: "/pages/:name",
    scopes: "none",
    run: (ctx) => reply(ctx, assetAt(ctx.params.name)),
  },
];

/** Answers a browser with the ways into the server; there is nothing here for anybody else. */
function replyHome(ctx: Context): void {
  ctx.vary("Accept");
  if (!prefersHtml(ctx.get("Accept"))) throw new ProblemError("not-found");
  const body = html`
    <main class="card home">
      <h1>Paihao</h1>
      <p class="detail">Slow work behind HTTP. Whoever submits a task gets a number, sees their exact place in line, and collects the result.</p>
      <p class="actions"><a class="button" href="${linkTo(ctx, "/dashboard")}">Dashboard</a> <a class="button" href="${linkTo(ctx, "/docs")}">API reference</a> <a class="button" href="${linkTo(ctx, "/v1/queues")}">Queues as JSON</a></p>
      <div id="lines"></div>
    </main>`;
  replyPage(ctx, { title: "Paihao", style: "card.css", script: "home.js", body });
}

/**
 * Answers with the dashboard, whose script chooses the view by the path. It contains no data of the server, so browsers also
 * get it with a refusal: a person enters an API key there.
 */
function replyDashboard(ctx: Context): void {
  const body = html`
    <div id="page"><main aria-busy="true"><p class="loading">Loading …</p></main></div>
    <noscript><p class="loading">This page needs JavaScript. The same figures are at <a href="${linkTo(ctx, "/v1/queues")}">/v1/queues</a>.</p></noscript>`;
  // Results that are images are fetched with the key.
  const parts = { style: "dashboard.css", script: "dashboard.js", images: "blob:" } as const;
  replyPage(ctx, { title: "Queues · Paihao", ...parts, body });
}

/** Answers with the dashboard to somebody who may not see it. */
function showRefusal(ctx: Context, { status }: ProblemError): boolean {
  if (status !== 401 && status !== 403) return false;
  ctx.status = status;
  replyDashboard(ctx);
  return true;
}

/** Answers with the API reference, which its script makes of the description at /openapi.json. */
function replyDocs(ctx: Context): void {
  const body = html`
    <div id="docs" data-has-keys="${String(accessOf(ctx).key !== "off")}"><noscript>This page needs JavaScript. The API description is also at <a href="${linkTo(ctx, "/openapi.json")}">/openapi.json</a>.</noscript></div>`;
  replyPage(ctx, { title: "API · Paihao", style: "docs.css", script: "docs.js", body });
}

function reply(ctx: Context, asset: Asset | undefined): void {
  if (!asset) throw new ProblemError("not-found");
  replyAsset(ctx, asset);
}
