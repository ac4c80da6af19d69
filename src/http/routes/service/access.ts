import type { Endpoints } from "../../routes.ts";
import { accessOf } from "../../task/access.ts";

/** The caller, and what they may do. */
export const accessEndpoints: Endpoints<"access"> = {
  access: (ctx) => {
    const { caller, key, scopes } = accessOf(ctx);
    ctx.set("Cache-Control", "no-store");
    ctx.body = { caller, keys: key !== "off", scopes: [...scopes] };
  },
};
