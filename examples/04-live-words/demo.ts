import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readConfig } from "../../src/config/config.ts";
import { createLog } from "../../src/log.ts";
import { start } from "../../src/server.ts";

const HANDLERS = new URL("handlers/", import.meta.url).pathname;
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript"],
  "/events.js": ["events.js", "text/javascript"],
};

/** A task server with the handler of this example, and a page that asks it. */
export interface Demo {
  readonly pageUrl: string;
  readonly apiUrl: string;
  stop(): Promise<void>;
}

/** Starts both, on free ports unless the page is given one; `env` are settings of the task server. */
export async function startDemo(env: Readonly<Record<string, string>> = {}, pagePort = 0): Promise<Demo> {
  let apiUrl = "";
  const pages = createServer((request, response) => {
    const [file, type] = FILES[request.url ?? ""] ?? [];
    if (file === undefined) return void response.writeHead(404).end();
    void readFile(new URL(`page/${file}`, import.meta.url), "utf8").then((text) => {
      response.writeHead(200, { "Content-Type": type }).end(text.replaceAll("{{api}}", apiUrl));
    });
  });
  await new Promise<void>((resolve) => pages.listen(pagePort, "127.0.0.1", resolve));
  const pageUrl = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  // The page has another origin than the API, which must allow it.
  const settings = { PORT: "0", HANDLERS, CORS_ORIGINS: pageUrl, ...env };
  const server = await start(readConfig({}, settings), createLog("warn"));
  apiUrl = server.url ?? "";
  return {
    pageUrl,
    apiUrl,
    async stop() {
      pages.close();
      pages.closeAllConnections();
      await server.stop();
    },
  };
}
