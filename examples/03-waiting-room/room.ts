import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { defineHandler, type StartOptions, start, type TaskContext } from "paihao";
import { PaihaoClient } from "paihao/client";

const PAGE: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/room.js": ["room.js", "text/javascript"],
  "/room.css": ["room.css", "text/css"],
};

/** What the room needs. */
export interface RoomOptions {
  readonly settings: Omit<StartOptions, "handlers">;
  /** What happens when it is a visitor's turn. */
  serve(task: TaskContext): Promise<unknown>;
}

/** Starts a site with a waiting room, and the task server behind it. */
export async function openRoom({ settings, serve }: RoomOptions): Promise<{ url: string; stop(): Promise<void> }> {
  const site = createServer((request, response) => {
    if (request.method === "POST" && request.url === "/tickets") return void giveTicket(response);
    const [file, type] = PAGE[request.url ?? ""] ?? [];
    if (file === undefined) return void response.writeHead(404).end();
    void readFile(new URL(`page/${file}`, import.meta.url)).then((content) => {
      response.writeHead(200, { "Content-Type": type }).end(content);
    });
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

  const desk = defineHandler({
    queue: "desk",
    concurrency: 1,
    async run(_input, task) {
      task.progress(50, "We are looking for your table");
      await serve(task);
      return { table: 1 + Math.floor(Math.random() * 20) };
    },
  });
  // The site has a key. A page has none: it gets a signed link, with which it can watch its own task and do nothing else.
  const key = randomBytes(24).toString("base64url");
  const server = await start({
    handlers: [desk],
    port: 0,
    apiKeys: [`site:submit:${createHash("sha256").update(key).digest("hex")}`],
    urlSigningKey: randomBytes(24).toString("base64url"),
    corsOrigins: [url],
    logLevel: "warn",
    ...settings,
  });
  const client = new PaihaoClient<{ desk: typeof desk }>({ url: server.url, key });

  async function giveTicket(response: ServerResponse): Promise<void> {
    try {
      const { links } = await client.submit("desk", {});
      const events = links.find(({ rel }) => rel === "events")?.href;
      response.writeHead(201, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ events: `${server.url}${events}` }));
    } catch {
      response.writeHead(503).end();
    }
  }

  const stop = async () => {
    site.close();
    site.closeAllConnections();
    await server.stop();
  };
  return { url, stop };
}
