import { once } from "node:events";
import { expect } from "chai";
import { type CliProcess, runCli, startCli } from "../helpers/cli.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { startModelServer } from "../shared/model-server.ts";
import { reservePort } from "../shared/ports.ts";

describe("paihao gateway", function () {
  this.timeout(60_000);
  const open: CliProcess[] = [];
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const { child } of open.splice(0)) {
      child.kill("SIGTERM");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    }
    for (const stop of stops.splice(0)) await stop();
  });
  const environment = () => ({ PORT: "0", REDIS_URL: storeUrl(), KEY_PREFIX: uniquePrefix(), LOG_LEVEL: "warn" });

  /** Starts one, and returns what it printed and where clients connect. */
  const start = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    // What passes through the door is not ours.
    const options = { env: { ...environment(), ...env }, contract: false };
    const running = startCli(["gateway", ...args, "--port", "0"], options);
    open.push(running);
    let said = "";
    running.child.stderr?.on("data", (text: string) => {
      said += text;
    });
    await running.until(/is ready on \S+\n/);
    return { running, said: () => said, url: / is ready on (\S+)/.exec(said)?.[1] ?? "" };
  };
  const ask = (url: string, model: string, init: RequestInit = {}) =>
    fetch(`${url}/v1/chat/completions`, {
      ...{ method: "POST", ...init, headers: { "Content-Type": "application/json", ...init.headers } },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
    });

  it("waits for an API that is not there yet, says so, and says when it is there", async () => {
    const port = await reservePort();
    const { running, said, url } = await start([`localhost:${port}`, "--speaks", "openai"]);
    await running.until(/cannot be reached \(connect ECONNREFUSED .*requests wait in line/);
    expect(said()).to.match(new RegExp(`base URL for clients: ${url}/v1 `));
    expect(said()).to.match(/gets one request at a time; to change it now: paihao queues set api --total 2\n/);
    expect(said()).to.match(/dashboard: http:\S+\/dashboard\/queues\/api\n/);
    const answer = ask(url, "small");
    const upstream = await startModelServer({ port });
    stops.push(upstream.stop);
    await running.until(/ is there\n/);
    expect((await answer).status).to.equal(200);
    expect(upstream.asked).to.deep.equal(["small: hello"]);
    expect((await fetch(`${url}/v1/models`)).headers.get("x-queue-waited"), "beside the line").to.equal(null);
  });

  it("puts the API's own key in the place of the caller's", async () => {
    const upstream = await startModelServer();
    stops.push(upstream.stop);
    const { url, said } = await start([upstream.url, "--key-env", "MODEL_KEY"], { MODEL_KEY: "key-of-the-model" });
    const headers = { Authorization: "Bearer of-the-caller" };
    expect((await ask(url, "small", { headers })).status).to.equal(200);
    expect(upstream.headers().authorization).to.equal("Bearer key-of-the-model");
    expect(said()).not.to.include("key-of-the-model");
  });

  it("tells clients of OpenAI's API and of Ollama's own what went wrong as they read it", async () => {
    const upstream = await startModelServer();
    stops.push(upstream.stop);
    const { url } = await start([upstream.url, "--speaks", "openai"]);
    const openai = await ask(url, "dies");
    const { error } = (await openai.json()) as { error: { message: string } };
    expect([openai.status, openai.headers.get("x-should-retry")]).to.deep.equal([502, "false"]);
    expect(error.message).to.include("may have been carried out");
    const ollama = await fetch(`${url}/api/chat`, {
      method: "POST",
      body: JSON.stringify({ model: "dies", stream: false }),
    });
    expect([ollama.status, await ollama.json()]).to.deep.equal([502, { error: error.message }]);
  });

  it("says that its port is taken, by the name of the option", async () => {
    const upstream = await startModelServer();
    stops.push(upstream.stop);
    const args = ["gateway", upstream.url, "--port", String(upstream.port)];
    const { code, stderr } = await runCli(args, { env: environment() });
    expect(code).to.equal(1);
    expect(stderr).to.match(/^paihao: --port is \d+, but 127\.0\.0\.1:\d+ is taken by another process/m);
  });

  it("refuses what it cannot use, and says what is expected", async () => {
    const refused = async (...args: string[]) => {
      const { code, stderr } = await runCli(["gateway", ...args], { env: environment() });
      expect(code, stderr).to.equal(2);
      return stderr;
    };
    expect(await refused("ftp://files")).to.match(/target is "ftp:\/\/files", expected an http or https URL/);
    expect(await refused("http://localhost:1", "--key-env", "NO_KEY")).to.match(/names NO_KEY, which is not set/);
    expect(await refused("http://localhost:1", "--direct", "models")).to.match(/direct is "models", expected a path/);
  });
});
