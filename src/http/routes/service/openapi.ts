import { packageVersion } from "../../../version.ts";
import type { Api } from "../../api.ts";
import { type Asset, makeAsset, replyAsset } from "../../asset.ts";
import type { Endpoints } from "../../routes.ts";
import { responseOf } from "../../server/response.ts";
import { accessOf } from "../../task/access.ts";

/**
 * The API's description. Without a key, where there are keys, it leaves out the queues and their inputs, which any key may see: the
 * rest is in every copy of this program, and generators, and the page at /docs before a key is entered, can read it.
 */
export function openApiEndpoints(api: Pick<Api, "handlers">): Endpoints<"openapi"> {
  // Each is generated once: handlers do not change while the server runs.
  let whole: Asset | undefined;
  let common: Asset | undefined;
  return {
    openapi: async (ctx) => {
      // Loaded when it is asked for: most servers never describe themselves.
      const { openApiDocument } = await import("../../openapi/document.ts");
      const { key } = accessOf(ctx);
      if (key !== "off") responseOf(ctx).varyBy("Authorization");
      if (key === "off" || key === "valid") {
        whole ??= assetOf(await openApiDocument([...api.handlers.values()], packageVersion()));
        return replyAsset(ctx, whole);
      }
      common ??= assetOf(await openApiDocument([], packageVersion(), KEY_NEEDED));
      replyAsset(ctx, common);
    },
  };
}

const KEY_NEEDED = "With an API key, this document also describes the queues of this server and their inputs.";

function assetOf(document: object): Asset {
  return makeAsset("application/json", Buffer.from(JSON.stringify(document)));
}
