import type { IncomingHttpHeaders } from "node:http";

/** A complete response. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON; throws where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into documents whose shape is what they test
  readonly json: any;
}
