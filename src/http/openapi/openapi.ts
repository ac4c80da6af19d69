import type { Handler } from "../../handler/define.ts";
import { packageVersion } from "../../version.ts";
import { type Asset, makeAsset, replyAsset } from "../asset.ts";
import { accessOf } from "../request/access.ts";
import { prefixOf } from "../request/forwarded.ts";
import type { Route } from "../route.ts";
import type { DescribedExtension } from "./document.ts";
import { empty, headerRefs } from "./responses.ts";

/**
 * The API's description. If the server has keys, callers without one do not see its queues and their inputs; the rest is
 * public, for generators and for the page at /docs before a key is entered.
 * @param routes those that it describes
 */
export function openApiRoutes(
  { handlers }: { readonly handlers: ReadonlyMap<string, Handler> },
  routes: readonly Route[],
  extensions: readonly DescribedExtension[],
): readonly Route[] {
  const described = { routes, extensions, version: packageVersion() };
  // Each is generated once: handlers do not change while the server runs.
  let whole: Promise<Asset> | undefined;
  let common: Promise<Asset> | undefined;
  return [
    {
      name: "openapi",
      method: "GET",
      path: "/openapi.json",
      scopes: "none",
      tag: "Operations",
      summary: "This document",
      answers: {
        "200": {
          description: "The document.",
          headers: headerRefs("ETag"),
          content: { "application/json": { schema: { type: "object" } } },
        },
        "304": empty("The caller has the current version.", "ETag"),
      },
      run: async (ctx) => {
        // Loaded when it is asked for, which most servers never are.
        const { openApiDocument } = await import("./document.ts");
        const { key } = accessOf(ctx);
        if (key !== "off") ctx.vary("Authorization");
        if (key === "off" || key === "valid") {
          whole ??= openApiDocument({ ...described, handlers: [...handlers.values()] }).then(assetOf);
          return replyAsset(ctx, servedBelow(prefixOf(ctx), await whole));
        }
        common ??= openApiDocument({ ...described, handlers: [], description: KEY_NEEDED }).then(assetOf);
        replyAsset(ctx, servedBelow(prefixOf(ctx), await common));
      },
    },
  ];
}

const KEY_NEEDED = "With an API key, this document also describes the queues of this server and their inputs.";

/** The document for callers who reach the server below a path. */
function servedBelow(prefix: string, asset: Asset): Asset {
  if (prefix === "") return asset;
  const servers = (url: string) => `"servers":${JSON.stringify([{ url }])}`;
  return makeAsset(asset.type, Buffer.from(asset.body.toString().replace(servers("/"), servers(prefix))));
}

function assetOf(document: object): Asset {
  return makeAsset("application/json", Buffer.from(JSON.stringify(document)));
}
