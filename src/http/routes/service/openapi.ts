import { packageVersion } from "../../../version.ts";
import type { Api } from "../../api.ts";
import { type Asset, makeAsset, replyAsset } from "../../asset.ts";
import type { Endpoints } from "../../routes.ts";
import { responseOf } from "../../server/response.ts";
import { accessOf } from "../../task/access.ts";

/**
 * The API's description. If the server has keys, callers without one do not see its queues and their inputs; the rest is
 * public, for generators and for the page at /docs before a key is entered.
 */
export function openApiEndpoints(api: Pick<Api, "handlers">): Endpoints<"openapi"> {
  // Each is generated once: handlers do not change while the server runs.
  let whole: Promise<Asset> | undefined;
  let common: Promise<Asset> | undefined;
  return {
    openapi: async (ctx) => {
      // Loaded when it is asked for, which most servers never are.
      const { openApiDocument } = await import("../../openapi/document.ts");
      const { key } = accessOf(ctx);
      if (key !== "off") responseOf(ctx).varyBy("Authorization");
      if (key === "off" || key === "valid") {
        whole ??= openApiDocument([...api.handlers.values()], packageVersion()).then(assetOf);
        return replyAsset(ctx, await whole);
      }
      common ??= openApiDocument([], packageVersion(), KEY_NEEDED).then(assetOf);
      replyAsset(ctx, await common);
    },
  };
}

const KEY_NEEDED = "With an API key, this document also describes the queues of this server and their inputs.";

function assetOf(document: object): Asset {
  return makeAsset("application/json", Buffer.from(JSON.stringify(document)));
}
