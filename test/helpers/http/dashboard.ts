import { expect } from "chai";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { Scope } from "../../../src/auth/api-key.ts";
import { launchBrowser } from "../../shared/browser.ts";
import { eventually } from "../../shared/eventually.ts";
import { type TestKeys, testKeys } from "./api-keys.ts";
import { startServer, type TestServer } from "./server.ts";

const HANDLERS = new URL("../../fixtures/handlers/", import.meta.url).pathname;
const WEBHOOKS = {
  WEBHOOK_ALLOW: "127.0.0.1/32",
  WEBHOOK_SECRET: `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`,
};
const SCOPES = { boss: ["admin"], viewer: ["read"], shop: ["submit"] } as const satisfies Record<string, Scope[]>;
type Name = keyof typeof SCOPES;

/** The dashboard of a server, in a browser; each test has a tab of its own. */
export interface DashboardTest {
  readonly keys: TestKeys<Name>;
  readonly server: TestServer;
  readonly context: BrowserContext;
  readonly page: Page;
  keyOf(name: Name): string;
  /** Opens an address as someone who has entered a key before. */
  open(path: string, as?: Name): Promise<void>;
  /** Submits as the shop; returns the id. */
  submit(queue: string, input: unknown, search?: string, id?: string): Promise<string>;
  /** Waits until a task is in this state; returns its document. */
  until(id: string, state: string): Promise<ReturnType<typeof JSON.parse>>;
  /** A request as the boss, without the browser. */
  json(path: string): Promise<ReturnType<typeof JSON.parse>>;
}

/**
 * Starts a server and a browser for the tests of a suite, which are skipped where there is no Chromium.
 * @param handlers the folder of its handlers
 */
export function dashboardTest(options: BrowserContextOptions = {}, handlers = "dashboard"): DashboardTest {
  const keys = testKeys(SCOPES);
  const complaints: string[] = [];
  let server: TestServer | undefined;
  let browser: Browser | undefined;
  let context: BrowserContext | undefined;
  let page: Page | undefined;
  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("the suite has not begun");
    return value;
  };

  before(async function () {
    browser = await launchBrowser();
    if (!browser) return this.skip();
    server = await startServer({ ...keys.env, ...WEBHOOKS, HANDLERS: HANDLERS + handlers });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    context = await there(browser).newContext({ baseURL: there(server).url, ...options });
    page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // A refused or failed request is not an error of the page.
      const isItsOwn = message.type() === "error" && !message.text().startsWith("Failed to load resource");
      if (isItsOwn) complaints.push(message.text());
    });
  });
  afterEach(async () => {
    await context?.close();
    expect(complaints.splice(0)).to.deep.equal([]);
  });

  const test: DashboardTest = {
    keys,
    get server() {
      return there(server);
    },
    get context() {
      return there(context);
    },
    get page() {
      return there(page);
    },
    keyOf: (name) => keys.as(name).Authorization?.replace("Bearer ", "") ?? "",
    async open(path, as = "boss") {
      await test.page.addInitScript(`sessionStorage.setItem("paihao.key", "${test.keyOf(as)}")`);
      await test.page.goto(path);
      await test.page.locator("main:not([aria-busy])").waitFor();
    },
    async submit(queue, input, search = "", id) {
      const headers = keys.as("shop", { Prefer: "respond-async", ...(id ? { "X-Request-Id": id } : {}) });
      const path = `/v1/queues/${queue}/requests${search}`;
      const answer = await test.server.send(path, { method: "POST", headers, body: input });
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
      return answer.json.id;
    },
    until: (id, state) =>
      eventually(async () => {
        const document = await test.json(`/v1/requests/${id}/status`);
        return document.state === state && document;
      }),
    json: async (path) => (await test.server.send(path, { headers: keys.as("boss") })).json,
  };
  return test;
}
