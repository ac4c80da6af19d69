import type { IncomingMessage } from "node:http";
import type { Context } from "koa";
import { PROBLEM_TYPE } from "../../engine/attempt/problem.ts";
import { ProblemError } from "../../errors.ts";
import { bareProblem } from "../problems/client-error.ts";
import { METHODS } from "../route.ts";
import type { Check } from "./checks.ts";

/** Limits of a request's head; Node's parser itself stops at HEAD_BYTES. */
const HEAD_LIMITS = { target: 16_384, fieldBytes: 16_384, fields: 1000 } as const;
/** After a malformed head, nothing that follows on the connection can be trusted. */
const CLOSE = { Connection: "close" };

/** Refuses what RFC 9112 requires a server to refuse but Node accepts, and answers `OPTIONS *`. */
export function wellFormed(): Check {
  return (ctx) => {
    const target = ctx.req.url ?? "";
    if (target.length > HEAD_LIMITS.target) {
      throw new ProblemError("uri-too-long", `The target is longer than ${HEAD_LIMITS.target} characters.`, {
        headers: CLOSE,
      });
    }
    const { bytes, hosts } = measured(ctx.req);
    if (bytes > HEAD_LIMITS.fieldBytes) {
      return tooManyFields(ctx, `The headers are longer than ${HEAD_LIMITS.fieldBytes} bytes.`);
    }
    if (ctx.req.rawHeaders.length > 2 * HEAD_LIMITS.fields) {
      return tooManyFields(ctx, `There are more than ${HEAD_LIMITS.fields} headers.`);
    }
    if (hosts > 1) throw wrongHost("expected one Host header, not several");
    if (hosts === 0 && ctx.req.httpVersion === "1.1") throw wrongHost("expected a Host header");
    if (target === "*" && ctx.method === "OPTIONS") {
      ctx.set("Allow", `${METHODS}, OPTIONS`);
      ctx.status = 204;
      return true;
    }
    return false;
  };
}

function measured({ rawHeaders }: IncomingMessage): { bytes: number; hosts: number } {
  let bytes = 0;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    // Including the colon, a space and the line end.
    bytes += name.length + (rawHeaders[i + 1] ?? "").length + 4;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return { bytes, hosts };
}

function wrongHost(expected: string): ProblemError {
  return new ProblemError("invalid-parameter", `Host: ${expected}`, {
    headers: CLOSE,
    extensions: { parameter: "Host" },
  });
}

/** 431 is not in the catalogue, since its status says everything (RFC 6585 §5). */
function tooManyFields(ctx: Context, detail: string): true {
  ctx.status = 431;
  ctx.set(CLOSE);
  ctx.type = PROBLEM_TYPE;
  ctx.body = JSON.stringify(bareProblem(431, detail));
  return true;
}
