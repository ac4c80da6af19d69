import type { Page } from "playwright-core";

/** What a browser loads and does until a page shows what it is for. */
export interface PageWeight {
  readonly requests: number;
  /** Of all answers, with their headers, as they came: compressed. */
  readonly bytes: number;
  /** When its largest part was drawn, ms after the navigation began (Largest Contentful Paint). */
  readonly paintMs: number;
}

/**
 * Opens an address in a browser that has nothing cached.
 * @param shown what is there when the page shows what it is for
 * @param slowdown how many times slower the browser computes than this machine
 */
export async function weigh(page: Page, address: string, shown: string, slowdown = 1): Promise<PageWeight> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Network.enable");
  await devTools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  let requests = 0;
  let bytes = 0;
  devTools.on("Network.requestWillBeSent", () => {
    requests += 1;
  });
  devTools.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.addInitScript(`new PerformanceObserver((list) => {
    globalThis.largestPaintMs = list.getEntries().at(-1).startTime;
  }).observe({ type: "largest-contentful-paint", buffered: true });`);
  await page.goto(address);
  await page.locator(shown).first().waitFor();
  await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
  const paintMs = await page.evaluate<number>("globalThis.largestPaintMs ?? NaN");
  await devTools.detach();
  return { requests, bytes, paintMs };
}
