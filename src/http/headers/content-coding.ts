import type { IncomingMessage } from "node:http";
import { PaihaoError } from "../../errors.ts";

/**
 * Refuses a body with a content coding, and reports in Accept-Encoding that none is accepted (RFC 9110 §12.5.3, §15.5.16).
 * @throws PaihaoError unsupported-media-type
 */
export function refuseCoding({ headers }: Pick<IncomingMessage, "headers">): void {
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return;
  throw new PaihaoError("unsupported-media-type", "The Content-Encoding is not accepted: send the body as it is.", {
    headers: { "Accept-Encoding": "identity" },
    extensions: { acceptsEncodings: ["identity"] },
  });
}
