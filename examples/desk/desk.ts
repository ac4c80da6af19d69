import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defineTurns, type StartOptions, start } from "paihao";
import { PaihaoClient, type Status } from "paihao/client";

/** Opens a desk: a site with a page for visitors and one for the clerk, and the task server behind it. */
export async function openDesk(settings: Omit<StartOptions, "handlers">) {
  const site = createServer((request, response) => {
    const page = { "/": "visitor", "/clerk": "clerk" }[request.url ?? ""];
    const action = request.method === "POST" && { "/tickets": giveTicket, "/next": callNext }[request.url ?? ""];
    if (!page && !action) return void response.writeHead(404).end();
    const answer = action
      ? action().then((value) => JSON.stringify(value))
      : readFile(new URL(`page/${page}.html`, import.meta.url));
    const type = action ? "application/json" : "text/html; charset=utf-8";
    void answer.then(
      (body) => response.writeHead(200, { "Content-Type": type }).end(body),
      () => response.writeHead(503).end(),
    );
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

  // The site has a key. A visitor's page has none: it gets a signed link, which shows this one ticket and does nothing else.
  const key = randomBytes(24).toString("base64url");
  const server = await start({
    handlers: [defineTurns({ queue: "desk", slots: 1 })],
    port: 0,
    apiKeys: [`site:submit+read:${createHash("sha256").update(key).digest("hex")}`],
    urlSigningKey: randomBytes(24).toString("base64url"),
    embedOrigins: [url],
    logLevel: "warn",
    ...settings,
  });
  const client = new PaihaoClient({ url: server.url, key });
  const headers = { Authorization: `Bearer ${key}` };
  const linkOf = ({ links }: Pick<Status, "links">, rel: string) =>
    new URL(links.find((link) => link.rel === rel)?.href ?? "", server.url).href;
  let given = 0;

  async function giveTicket() {
    given += 1;
    const ticket = await client.submit("desk", null, { label: `number ${given}` });
    return { number: given, page: `${linkOf(ticket, "monitor")}&embed=true` };
  }

  /** Who is at the desk. */
  async function served(): Promise<Status | undefined> {
    const answer = await fetch(new URL("/v1/queues/desk/running", server.url), { headers });
    return ((await answer.json()) as { items: Status[] }).items[0];
  }

  /** Ends the turn of who is at the desk; the store calls the next one in the same step. */
  async function callNext() {
    const before = await served();
    if (before) await fetch(linkOf(before, "done"), { method: "POST", headers });
    return { called: (await served())?.label ?? null };
  }

  const stop = async () => {
    site.close();
    site.closeAllConnections();
    await server.stop();
  };
  return { url, stop };
}
