import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type StartOptions, start } from "paihao";
import { words } from "./handlers/words.ts";

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript"],
  "/events.js": ["events.js", "text/javascript"],
};

/** A task server with the handler of this example, and a page that uses it. */
export interface Demo {
  readonly pageUrl: string;
  readonly apiUrl: string;
  stop(): Promise<void>;
}

/** Starts both, on free ports. */
export async function startDemo(settings: Omit<StartOptions, "handlers">): Promise<Demo> {
  let apiUrl = "";
  const pages = createServer((request, response) => {
    const [file, type] = FILES[request.url ?? ""] ?? [];
    if (file === undefined) return void response.writeHead(404).end();
    void readFile(new URL(`page/${file}`, import.meta.url), "utf8").then((text) => {
      response.writeHead(200, { "Content-Type": type }).end(text.replaceAll("{{api}}", apiUrl));
    });
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  const pageUrl = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  // The origin of the page differs from the API's, so the API must allow it.
  const server = await start({ handlers: [words], port: 0, corsOrigins: [pageUrl], logLevel: "warn", ...settings });
  apiUrl = server.url;
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
