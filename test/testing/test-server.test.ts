import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect } from "chai";
import { defineHandler, giveUp } from "paihao";
import { testServer } from "paihao/testing";
import { formatApiKey, makeKey, parseScopes } from "../../src/auth/api-key.ts";
import { thrownBy } from "../handlers/context.ts";
import { deferred } from "../helpers/deferred.ts";
import { ROOT } from "../shared/root.ts";

const submit = (url: string, queue: string, input: unknown, search = "") =>
  fetch(`${url}/v1/queues/${queue}/requests${search}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Prefer: "respond-async" },
    body: JSON.stringify(input),
  });

/** The processes that this one has started. */
const children = () =>
  execFileSync("ps", ["-o", "pid=", "--ppid", String(process.pid)], { encoding: "utf8" }).split("\n").length;

describe("testServer", () => {
  it("runs tasks on its own store, and says when no work is left", async () => {
    let [runs, undone] = [0, 0];
    const flaky = defineHandler({
      queue: "flaky",
      backoff: { base: "10ms" },
      run(_, task) {
        runs += 1;
        if (task.attempt === 1) throw new Error("not yet");
        return "done";
      },
    });
    const booking = defineHandler({
      queue: "booking",
      async run(_, task) {
        await task.step("book", () => 1);
        throw giveUp({ status: 409, title: "Full" });
      },
      undo: {
        book: () => {
          undone += 1;
        },
      },
    });
    await using server = await testServer({ handlers: [flaky, booking] });
    expect(server.store).to.contain("embedded");
    expect(server.queues).to.deep.equal(["flaky", "booking"]);
    for (const queue of server.queues) expect((await submit(server.url, queue, {})).status).to.equal(202);
    await server.drained();
    expect([runs, undone]).to.deep.equal([2, 1]);
  });

  it("has a client that is typed by the handlers", async () => {
    const greet = defineHandler({ queue: "greet", run: ({ name }: { name: string }) => ({ text: `Hello, ${name}!` }) });
    const count = defineHandler({ queue: "count", run: (words: string[]) => words.length });
    await using server = await testServer({ handlers: [greet, count] });
    const { text } = await server.client.run("greet", { name: "Ada" });
    const words: number = await server.client.run("count", ["one", "two"]);
    expect([text, words]).to.deep.equal(["Hello, Ada!", 2]);
    // @ts-expect-error: no such queue
    expect(await thrownBy(() => server.client.run("shout", {}))).to.have.nested.property("problem.status", 404);
    // @ts-expect-error: not the input of this queue
    await server.client.submit("count", { name: "Ada" });
  });

  it("has a client with a key, for a server with keys", async () => {
    const { key, entry } = makeKey("test", parseScopes("admin", ",", "test"));
    const echo = defineHandler({ queue: "echo", run: (input: string) => input });
    await using server = await testServer({ handlers: [echo], apiKeys: [formatApiKey(entry)], key });
    expect(await server.client.run("echo", "hello")).to.equal("hello");
    expect((await submit(server.url, "echo", "hello")).status).to.equal(401);
  });

  it("names the remaining tasks if it is not drained in time", async () => {
    const gate = deferred();
    const slow = defineHandler({ queue: "slow", concurrency: 1, run: () => gate.promise });
    await using server = await testServer({ handlers: [slow] });
    await submit(server.url, "slow", {});
    await submit(server.url, "slow", {});
    await submit(server.url, "slow", {}, "?delay=3600");
    const thrown = await thrownBy(() => server.drained({ within: "300ms" }));
    expect(thrown).to.have.property("message", "not drained within 300ms: slow: 1 waiting, 1 scheduled, 1 running");
    gate.resolve();
  });

  it("accepts the settings of a server", async () => {
    const echo = defineHandler({ queue: "echo", run: (input) => input });
    await using server = await testServer({ handlers: [echo], maxBody: 10 });
    expect((await submit(server.url, "echo", "a long text")).status).to.equal(413);
  });

  it("leaves no process and no file", async () => {
    const echo = defineHandler({ queue: "echo", run: (input) => input });
    const before = { children: children(), files: readdirSync(".") };
    const server = await testServer({ handlers: [echo] });
    await submit(server.url, "echo", {});
    await server.drained();
    expect(children()).to.be.greaterThan(before.children);
    await server.stop();
    expect({ children: children(), files: readdirSync(".") }).to.deep.equal(before);
  });

  it("leaves nothing that keeps the process running", () => {
    const program = `
      const { defineHandler } = await import(${JSON.stringify(`file://${ROOT}/src/index.ts`)});
      const { testServer } = await import(${JSON.stringify(`file://${ROOT}/src/testing/index.ts`)});
      const echo = defineHandler({ queue: "echo", run: (input) => input });
      const server = await testServer({ handlers: [echo] });
      console.log(await server.client.run("echo", "hello"));
      await server.stop();`;
    const args = ["--import", "tsx", "--input-type=module", "--eval", program];
    // It has to end by itself: a timeout is an error.
    expect(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", timeout: 25_000 })).to.equal("hello\n");
  });
});
