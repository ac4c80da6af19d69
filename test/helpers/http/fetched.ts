import diagnostics from "node:diagnostics_channel";
import type { IncomingHttpHeaders } from "node:http";
import { gzipSync } from "node:zlib";
import "./recorded-fetch.mjs";
import { assertContract } from "./contract.ts";

/** An answer as `recorded-fetch.mjs` records it; the body in base64. */
export interface Fetched {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Holds a whole answer that `fetch` got against the contract. @throws Error that names the request and each broken rule */
export function assertFetched({ method, url, status, headers, body }: Fetched): Promise<void> {
  const { pathname, search } = new URL(url);
  const bytes = Buffer.from(body, "base64");
  return assertContract(method, `${pathname}${search}`, {
    ...{ status, headers, text: bytes.toString("utf8") },
    // It was decoded on its way.
    body: headers["content-encoding"] === "gzip" ? gzipSync(bytes) : bytes,
    get json() {
      return JSON.parse(bytes.toString("utf8"));
    },
  });
}

/**
 * Holds every whole answer that `fetch` gets in the tests of the `describe` that calls this against the contract, but those that a proxy
 * has made or changed.
 */
export function judgeFetched(): void {
  const answers: Fetched[] = [];
  const note = (answer: unknown) => answers.push(answer as Fetched);
  before(() => diagnostics.subscribe("answers of fetch", note));
  afterEach(async () => {
    for (const answer of answers.splice(0)) if (answer.headers.via === undefined) await assertFetched(answer);
  });
  after(() => {
    diagnostics.unsubscribe("answers of fetch", note);
  });
}
