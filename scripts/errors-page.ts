/**
 * `npm run docs`: writes docs/errors.md from the catalogue and its explanations; a test compares the two.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorEntries } from "../src/errors.ts";
import { explain } from "../src/http/problems/explanation.ts";

/** Where the page is. */
export const ERRORS_PAGE = join(import.meta.dirname, "../docs/errors.md");

/** The text of the page. */
export function errorsPage(): string {
  const explained = errorEntries.map(({ code }) => explain(code));
  const rows = explained.map(({ code, status, title, action }) => `| ${status} | \`${code}\` | ${title}. ${action} |`);
  return `# Problems

Every error is answered with a problem document ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)), that is
\`application/problem+json\`, whose \`type\` is \`/problems/{code}\`. A server explains its own codes at that path, as a page or as
JSON, with what it means and an example. A code is never renamed and never changes its status; \`status\` in the document is always the HTTP status.

Written by \`npm run docs\` from \`src/errors.ts\` and \`src/http/problems/texts.ts\`.

| status | code | what to do |
|---|---|---|
${rows.join("\n")}
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(ERRORS_PAGE, errorsPage());
