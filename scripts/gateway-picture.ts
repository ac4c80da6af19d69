/** The README's picture of a line before a model: what a terminal shows of `paihao gateway`, and of five callers at once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { eventually } from "../test/shared/eventually.ts";
import { startModelServer } from "../test/shared/model-server.ts";
import { ROOT } from "../test/shared/root.ts";

const PROMPT = '{"model":"small","stream":true,"messages":[{"role":"user","content":"Why wait?"}]}';
const ASK = [
  "for n in 1 2 3 4 5; do",
  "  curl -sN localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\",
  `    -d '${PROMPT}' > $n.txt & sleep 0.1`,
  "done; wait; grep . 5.txt | head -n 6",
].join("\n");
const COLUMNS = 100;
/** So that the estimate has something to go by. */
const BEFORE = 2;

/** Takes it, light and dark. The ports 8000, 3000 and 11434 must be free, as they are in the picture. */
export async function takeGateway(browser: Browser, folder: string): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), "paihao-picture-"));
  const model = await startModelServer({ port: 11434, tokenMs: 1600 });
  const command = [join(ROOT, "dist/cli/paihao.js"), "gateway", "http://localhost:11434"];
  const gateway = spawn(process.execPath, command, {
    cwd,
    env: { PATH: process.env.PATH, LOG_LEVEL: "warn", STORE: "embedded" },
  });
  let said = "";
  gateway.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  try {
    await eventually(() => said.includes("is ready"), 30_000);
    const body = PROMPT.replace("true", "false");
    for (let n = 0; n < BEFORE; n += 1) {
      const headers = { "Content-Type": "application/json" };
      await (await fetch("http://localhost:8000/v1/chat/completions", { method: "POST", headers, body })).text();
    }
    const asking = spawn("bash", ["-c", ASK], { cwd, env: { PATH: process.env.PATH } });
    let shown = "";
    asking.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
    await once(asking, "close");
    const typed = (text: string) => `<b>$ ${escaped(text)}</b>`;
    const places = escaped(cut(shown.trimEnd())).replaceAll(/^:.*$/gm, "<b>$&</b>");
    const screen = [typed("npx paihao gateway http://localhost:11434"), escaped(said), typed(ASK), places];
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({ viewport: { width: 960, height: 100 }, colorScheme });
      await page.setContent(pageOf(screen.join("\n")));
      await page.locator("pre").screenshot({ path: join(folder, `gateway-${colorScheme}.png`) });
      await page.close();
    }
  } finally {
    const ended = once(gateway, "exit");
    gateway.kill("SIGTERM");
    await ended;
    await model.stop();
    rmSync(cwd, { recursive: true });
  }
}

/** Lines that fit. */
function cut(text: string): string {
  return text
    .split("\n")
    .map((line) => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line))
    .join("\n");
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function pageOf(html: string): string {
  return `<!doctype html><style>
    :root { color-scheme: light dark; }
    body { margin: 0; }
    pre { margin: 0; padding: 20px; width: 920px; font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace;
      white-space: pre-wrap; background: light-dark(#f6f8fa, #161b22); color: light-dark(#59636e, #9198a1); }
    b { font-weight: normal; color: light-dark(#1f2328, #f0f6fc); }
  </style><pre>${html}</pre>`;
}
