/**
 * `npm run pictures`: takes the README's pictures of the dashboard and of a task's page, light and dark, from a server under load.
 * `-- --minutes N` is how long the load lasts (5), `-- --all FOLDER` takes every view, wide and narrow.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Browser } from "playwright-core";
import { VARIABLES } from "../../src/config/variables.ts";
import { launchBrowser } from "../../test/shared/browser.ts";
import { eventually } from "../../test/shared/eventually.ts";
import { reservePort } from "../../test/shared/ports.ts";
import { ROOT } from "../../test/shared/root.ts";

/** A name of a picture, and its address. */
type Views = Readonly<Record<string, string>>;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" }, all: { type: "string" } } });
const port = await reservePort();
const url = `http://127.0.0.1:${port}`;

async function submit(queue: string, label: string, input: object): Promise<string> {
  const address = `${url}/v1/queues/${queue}/requests?label=${encodeURIComponent(label)}`;
  const headers = { "Content-Type": "application/json", Prefer: "respond-async" };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(input) });
  return ((await answer.json()) as { id: string }).id;
}

/** Submits a second's tasks: more than one of the queues can run, and now and then one that fails. */
async function load(second: number): Promise<void> {
  const some = (n: number, queue: string, label: string, input: (n: number) => object) =>
    Promise.all(Array.from({ length: n }, (_, i) => submit(queue, `${label} ${second * n + i}`, input(i))));
  await some(3 + (second % 5), "thumbnails", "photo", (n) => ({ ms: 400 + 90 * n + 20 * (second % 7) }));
  await some(3 + (second % 4), "emails", "letter", () => ({ ms: 150 }));
  if (second % 3 === 0) await submit("vision", `scan ${second / 3}`, { ms: 2500 + 100 * (second % 20) });
  if (second % 2 === 0) await submit("reports", `week ${second / 2}`, { ms: 3000 + 100 * (second % 11) });
  if (second % 4 === 0) {
    const fails = second % 40 === 0 ? { fails: "the printer at 10.0.3.17 refused the connection (ECONNREFUSED)" } : {};
    await submit("invoices", `invoice ${2000 + second}`, { ms: 900, ...fails });
  }
}

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

const folder = mkdtempSync(join(tmpdir(), "paihao-pictures-"));
// Settings of this environment must not change the pictures.
const unset = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, ""]));
const env = { ...process.env, ...unset, LOG_LEVEL: "warn", PORT: String(port), DATA_DIR: folder };
const server = spawn("npm", ["start"], {
  ...{ cwd: ROOT, detached: true, stdio: "inherit" },
  env: { ...env, HANDLERS: join(import.meta.dirname, "handlers") },
});
const browser = await launchBrowser();
try {
  if (!browser) throw new Error("pictures need chromium");
  await eventually(async () => (await fetch(`${url}/readyz`)).ok, 60_000);
  if (values.all) await take(browser, values.all, { home: "/", empty: "/dashboard" }, { 1440: 1440, 390: 390 });
  for (let second = 0; second < Number(values.minutes) * 60; second += 1) {
    await Promise.all([load(second), sleep(1000)]);
  }
  const task = await submit("vision", "scan of the contract", { ms: 4000 });
  if (values.all) {
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
      task: `/dashboard/tasks/${task}`,
    };
    await take(browser, values.all, { ...views, ...others }, { 1440: 1440, 768: 768, 390: 390 });
  } else {
    await take(browser, join(ROOT, "docs/images"), { dashboard: "/dashboard" }, { "": 1280 });
    await take(browser, join(ROOT, "docs/images"), { "task-page": `/v1/requests/${task}/status` }, { "": 720 });
  }
} finally {
  await browser?.close();
  if (server.exitCode === null && server.pid) {
    const ended = once(server, "exit");
    process.kill(-server.pid, "SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}
