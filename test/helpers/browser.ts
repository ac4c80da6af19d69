import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The accessibility faults that axe finds on a page: each rule with the elements that break it. */
export async function axeFindings(page: Page): Promise<string[]> {
  // Evaluated by the debugger, since the page's policy does not allow our script.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    interface Violation {
      readonly id: string;
      readonly help: string;
      readonly nodes: readonly { readonly html: string }[];
    }
    const { violations } = await axe.run();
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" ")}`);
  });
}

/** Cancels on a page by `click`, and lets the answer arrive only after the page shows the end; resolves when the page has read it. */
export async function cancelWithLateAnswer(
  page: Page,
  click: () => Promise<void>,
  end: () => Promise<void>,
): Promise<void> {
  await page.route("**/v1/*/*", async (route) => {
    if (route.request().method() !== "DELETE") return route.continue();
    const response = await route.fetch();
    await end();
    await route.fulfill({ response });
  });
  const answered = page.waitForResponse((response) => response.request().method() === "DELETE");
  await click();
  await (await answered).finished();
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
}
