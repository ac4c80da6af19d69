import { packageVersion } from "../../../version.ts";
import type { Api } from "../../api.ts";
import { type Asset, makeAsset, replyAsset } from "../../asset.ts";
import { openApiDocument } from "../../openapi/document.ts";
import type { Endpoints } from "../../routes.ts";

/** The API's description. */
export function openApiEndpoints(api: Pick<Api, "handlers">): Endpoints<"openapi"> {
  let asset: Asset | undefined;
  return {
    openapi: (ctx) => {
      // Generated once: handlers do not change while the server runs.
      asset ??= describe(api);
      replyAsset(ctx, asset);
    },
  };
}

function describe(api: Pick<Api, "handlers">): Asset {
  return makeAsset(
    "application/json",
    Buffer.from(JSON.stringify(openApiDocument([...api.handlers.values()], packageVersion()))),
  );
}
