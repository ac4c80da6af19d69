import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { defineHandler, type StartOptions, start } from "paihao";
import { VARIABLES } from "../src/config/variables.ts";
import { recordingLog } from "./helpers/recording-log.ts";
import { expectStartError } from "./helpers/start-error.ts";
import { storeUrl, uniquePrefix } from "./helpers/store/run-store.ts";
import { removeKeys } from "./helpers/store/scan.ts";
import { eventually } from "./shared/eventually.ts";
import { ROOT } from "./shared/root.ts";

const greet = defineHandler<{ name: string }>({
  queue: "greet",
  run({ name }, task) {
    task.log.info("greeting");
    return `Hello, ${name}!`;
  },
});
const shout = defineHandler<{ name: string }>({ queue: "shout", run: ({ name }) => name.toUpperCase() });

const prefixes: string[] = [];
/** Options for a server on the store of this run. */
function options(more: Partial<StartOptions> = {}): StartOptions {
  const keyPrefix = uniquePrefix();
  prefixes.push(keyPrefix);
  return { handlers: [greet], port: 0, redisUrl: storeUrl(), keyPrefix, drainTimeout: 0, logLevel: "silent", ...more };
}

const startErrorOf = (work: () => Promise<unknown>) => expectStartError(work(), "");

const submit = (url: string, queue: string, input: unknown) =>
  fetch(`${url}/v1/queues/${queue}/requests`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(input),
  });

describe("start() of the package", () => {
  after(async () => {
    for (const prefix of prefixes) await removeKeys(storeUrl(), prefix);
  });

  it("runs several servers in one process, each with its own handlers; one stops, the other goes on", async () => {
    const first = await start(options());
    const second = await start(options({ handlers: [shout] }));
    try {
      expect(first.queues).to.deep.equal(["greet"]);
      expect(first.store).to.match(/^store: /);
      expect(await (await submit(first.url, "greet", { name: "Ada" })).json()).to.equal("Hello, Ada!");
      expect((await submit(second.url, "greet", { name: "Ada" })).status).to.equal(404);
      await first.stop();
      await first.stop();
      expect(await submit(first.url, "greet", {}).catch(() => "gone")).to.equal("gone");
      expect(await (await submit(second.url, "shout", { name: "Ada" })).json()).to.equal("ADA");
      expect(await (await fetch(`${second.url}/metrics`)).text()).to.match(/^process_cpu_seconds_total \d/m);
    } finally {
      await first.stop();
      await second.stop();
    }
  });

  it("is stopped by `await using`", async () => {
    let url = "";
    {
      await using server = await start(options());
      url = server.url;
      expect((await fetch(`${url}/readyz`)).status).to.equal(200);
    }
    expect(await fetch(url).catch(() => "gone")).to.equal("gone");
  });

  it("takes every setting in camelCase, as text or as what it stands for", async () => {
    const lists = { corsOrigins: ["https://a.example", "https://b.example"], allowedHosts: "c.example" };
    await using server = await start(
      options({ maxBody: 20, syncLimit: "1s", trustProxy: true, pendingStatus: 202, ...lists }),
    );
    expect((await submit(server.url, "greet", { name: "a name that is far too long" })).status).to.equal(413);
    const asked = await fetch(`${server.url}/v1/queues`, { headers: { Origin: "https://b.example" } });
    expect(asked.headers.get("access-control-allow-origin")).to.equal("https://b.example");
    // @ts-expect-error: not one of the stores
    const wrong: StartOptions = { handlers: [greet], store: "memory" };
    expect(await startErrorOf(() => start(wrong))).to.equal(
      'store is "memory", expected one of external, native, embedded',
    );
  });

  it("has a setting for each variable but those that concern the process or are given otherwise", async () => {
    const missing: string[] = [];
    for (const name of Object.keys(VARIABLES)) {
      const setting = name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
      const message = await startErrorOf(() => start({ handlers: [greet], [setting]: {} }));
      if (!/^\w+ is (\{\}|the value given), expected /.test(message)) missing.push(name);
    }
    expect(missing).to.have.members(["HANDLERS", "WEB_CONCURRENCY"]);
  });

  it("reads the environment only where it is told to", async () => {
    const before = process.env.LEASE;
    process.env.LEASE = "nonsense";
    try {
      await (await start(options())).stop();
      const told = await startErrorOf(() => start(options({ env: process.env })));
      expect(told).to.match(/^lease is "nonsense", expected a duration/);
      await (await start(options({ env: process.env, lease: "5s" }))).stop();
    } finally {
      if (before === undefined) delete process.env.LEASE;
      else process.env.LEASE = before;
    }
  });

  it("refuses what cannot work, naming the setting", async () => {
    const refusal = (given: Record<string, unknown>) => startErrorOf(() => start({ handlers: [greet], ...given }));
    expect(await refusal({ resultTTL: "1h" })).to.equal('there is no setting "resultTTL"; did you mean "resultTtl"?');
    expect(await refusal({ prot: 0 })).to.equal('there is no setting "prot"; did you mean "port"?');
    expect(await refusal({ webConcurrency: 2 })).to.match(/^webConcurrency is not a setting here: .*`paihao start`/);
    expect(await refusal({ apiKeys: ["hunter2", {}] })).to.match(/^apiKeys is the value given, expected /);
    expect(await refusal({ port: 99_999 })).to.match(/^port is "99999", expected a whole number/);
    expect(await refusal({ port: Number.NaN })).to.match(/^port is "NaN"/);
    expect(await refusal({ role: "api" })).to.match(/^role is api but redisUrl is not set/);
    expect(await refusal({ handlers: [] })).to.match(/^there are no handlers/);
    expect(await refusal({ handlers: undefined })).to.match(/^there are no handlers/);
    expect(await refusal({ handlers: [{ queue: "greet" }] })).to.equal(
      "handlers[0] is not what defineHandler() returns",
    );
    const again = defineHandler({ queue: "greet", run: () => null });
    expect(await refusal({ handlers: [greet, again] })).to.equal('two handlers for the queue "greet"');
    const alone = defineHandler({ queue: "alone", isolate: true, run: () => null });
    expect(await startErrorOf(() => start(options({ handlers: [alone] })))).to.match(/asks for isolate/);
  });

  it("takes a directory of handler files, and a log of the program's own", async () => {
    const { log, messages } = recordingLog();
    await using shaped = await start(options({ handlers: "test/fixtures/handlers/shaped" }));
    expect(shaped.queues).to.not.be.empty.and.not.include("greet");
    await using server = await start(options({ log }));
    await submit(server.url, "greet", { name: "Ada" });
    expect(messages).to.include("greeting");
  });

  it("handles no signal, and stops without leaving anything that keeps the process running", async () => {
    const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)]);
    await (await start(options())).stop();
    const [before, resources] = [listeners(), process.getActiveResourcesInfo().length];
    const server = await start(options());
    expect(listeners()).to.deep.equal(before);
    await server.stop();
    await eventually(() => process.getActiveResourcesInfo().length <= resources);
  });

  it("costs nothing to import: no effect, and no server loaded before start() is called", () => {
    const index = pathToFileURL(`${ROOT}/src/index.ts`).href;
    // These are tsx's, which speaks with its own thread and with its parent while modules are loaded.
    const look = `
      const { default: nodeModule } = await import("node:module");
      const ofTsx = ["MessagePort", "ConnectWrap", "PipeWrap"];
      const resources = () => process.getActiveResourcesInfo().filter((kind) => !ofTsx.includes(kind));
      const seen = () => [process.eventNames().map(String), resources()];
      const before = seen();
      await import(${JSON.stringify(index)});
      const loaded = Object.keys(nodeModule._cache).filter((file) => /node_modules.(koa|ioredis|prom-client)./.test(file));
      console.log(JSON.stringify({ before, after: seen(), loaded }));`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", look];
    const said = JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" }));
    expect(said).to.deep.equal({ before: said.before, after: said.before, loaded: [] });
  });
});
