import { defineHandler, FetchError, fetchPage, giveUp, type Page, type TaskContext } from "paihao";
import { z } from "zod";
import { DIGEST_LIMITS, digestPage, type PageDigest } from "./digest/page.ts";
import { NestedTooDeep } from "./digest/reader.ts";

const input = z
  .strictObject({
    html: z.string().meta({ description: "A page as text; may be empty" }).optional(),
    url: z
      .url({ protocol: /^https?$/, error: "expected an http or https URL" })
      .max(DIGEST_LIMITS.href)
      .meta({ description: "Address of a page on the public internet, http or https" })
      .optional(),
  })
  .refine(({ html, url }) => (html === undefined) !== (url === undefined), {
    error: "expected exactly one of html and url",
  })
  .meta({
    title: "A page to digest",
    oneOf: [{ required: ["html"] }, { required: ["url"] }],
    examples: [{ html: "<title>Hello</title><p>Take a number." }, { url: "https://example.com/" }],
  });

/**
 * Summarizes a web page, given as text or by its URL: title, description, language, words, reading time, headings, links.
 * Members other than `html` and `url` are refused. A permanent failure (a 404, an image, an address that is not public) gives
 * 422 at once; a failure of the server or network is retried.
 */
export const digest = defineHandler({
  queue: "default",
  input,
  timeout: "1m",
  async run({ html, url }, task): Promise<PageDigest> {
    if (url === undefined) return await digested({ html: html ?? "" }, task);
    task.progress(5, "fetching the page");
    const page = await fetched(url, task.signal);
    task.progress(60, "digesting the page");
    return await digested(page, task);
  },
});

async function digested(page: { html: string } & Partial<Page>, { signal }: TaskContext): Promise<PageDigest> {
  try {
    return await digestPage(page.html, { url: page.url, language: page.language, signal });
  } catch (error) {
    if (error instanceof NestedTooDeep) throw unusable(error.message, page.url === undefined ? "html" : "url");
    throw error;
  }
}

async function fetched(url: string, signal: AbortSignal): Promise<Page> {
  try {
    return await fetchPage(url, { signal });
  } catch (error) {
    if (error instanceof FetchError && !mayPass(error)) throw unusable(error.message, "url");
    throw error;
  }
}

/** Whether the same request may succeed later. */
function mayPass({ failure, status = 0 }: FetchError): boolean {
  if (failure === "status") return status < 400 || status >= 500 || [408, 425, 429].includes(status);
  return failure === "unreachable" || failure === "timed-out";
}

function unusable(detail: string, field: "html" | "url") {
  return giveUp({
    status: 422,
    title: "The page cannot be digested",
    detail: `${field}: ${detail}`,
    errors: [{ pointer: `#/${field}`, detail }],
  });
}
