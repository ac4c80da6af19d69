/**
 * `npm run pictures`: takes the README's pictures, light and dark: of the dashboard and a task from `paihao demo`, and of a gateway; it prints what the dashboard weighs
 * and when a processor that is four times slower has painted it. `-- --minutes N` is how long it runs first (5), `-- --all FOLDER` takes every view, wide and narrow.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Browser } from "playwright-core";
import { PaihaoClient } from "../src/client/index.ts";
import { launchBrowser } from "../test/shared/browser.ts";
import { eventually } from "../test/shared/eventually.ts";
import { weigh } from "../test/shared/page-weight.ts";
import { reservePort } from "../test/shared/ports.ts";
import { ROOT } from "../test/shared/root.ts";
import { takeGateway } from "./gateway-picture.ts";

/** A name of a picture, and its address. */
type Views = Readonly<Record<string, string>>;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" }, all: { type: "string" } } });
const port = await reservePort();
const url = `http://127.0.0.1:${port}`;

async function take(browser: Browser, folder: string, views: Views, sizes: Readonly<Record<string, number>>) {
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, width] of Object.entries(sizes)) {
      const page = await browser.newPage({ viewport: { width, height: 860 }, colorScheme, baseURL: url });
      for (const [name, address] of Object.entries(views)) {
        await page.goto(address);
        await page.locator("main:not([aria-busy])").waitFor();
        // Charts are drawn when the last hour has come.
        if (name === "dashboard" || name === "queue") await page.locator(".plot canvas").first().waitFor();
        await page.screenshot({ path: join(folder, `${[name, size, colorScheme].filter(Boolean).join("-")}.png`) });
      }
      await page.close();
    }
  }
}

const demo = spawn(process.execPath, [join(ROOT, "dist/cli/paihao.js"), "demo", "--port", String(port)], {
  stdio: "inherit",
});
const browser = await launchBrowser();
try {
  if (!browser) throw new Error("pictures need chromium");
  await eventually(async () => (await fetch(`${url}/readyz`)).ok, 60_000);
  if (values.all) await take(browser, values.all, { home: "/", empty: "/dashboard" }, { 1440: 1440, 390: 390 });
  await sleep(Number(values.minutes) * 60_000);
  const client = new PaihaoClient({ url });
  /** A task that waits behind others. */
  const behind = async (count: number) => {
    for (let n = 0; n < count; n += 1) await client.submit("vision", { seconds: 4 });
    return (await client.submit("vision", { seconds: 4 }, { label: "scan of the contract" })).id;
  };
  if (values.all) {
    const id = await behind(0);
    const queue = "/dashboard/queues/vision";
    const views = {
      dashboard: "/dashboard",
      queue,
      dead: "/dashboard/queues/invoices/dead",
      events: "/dashboard/events",
    };
    const others = {
      workers: "/dashboard/workers",
      search: "/dashboard/search?text=scan",
      task: `/dashboard/tasks/${id}`,
    };
    await take(browser, values.all, { ...views, ...others }, { 1440: 1440, 768: 768, 390: 390 });
  } else {
    await take(browser, join(ROOT, "docs/images"), { dashboard: "/dashboard" }, { "": 1280 });
    await take(
      browser,
      join(ROOT, "docs/images"),
      { "task-page": `/v1/requests/${await behind(8)}/status` },
      { "": 720 },
    );
    await takeGateway(browser, join(ROOT, "docs/images"));
  }
  const page = await browser.newPage({ baseURL: url });
  const { requests, bytes, paintMs } = await weigh(page, "/dashboard", ".plot canvas", 4);
  console.log(
    `/dashboard: ${requests} requests, ${Math.round(bytes / 1000)} kB, largest paint after ${Math.round(paintMs)} ms at 4× slowdown`,
  );
} finally {
  await browser?.close();
  const ended = once(demo, "exit");
  if (demo.exitCode === null && demo.kill("SIGTERM")) await ended;
}
