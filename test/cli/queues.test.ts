import { expect } from "chai";
import { runCli, startCli } from "../helpers/cli.ts";
import { closedGate } from "../helpers/gates.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";

describe("paihao and the queues", function () {
  this.timeout(120_000);
  const keys = testKeys({ admin: ["admin"], user: ["submit"], viewer: ["read"] });
  const keyOf = (name: "admin" | "user" | "viewer") => keys.as(name).Authorization?.replace("Bearer ", "") ?? "";
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer({ ...keys.env, WEBHOOK_ALLOW: "127.0.0.1" });
  });
  afterEach(() => server.stop());
  const paihao = (line: string | readonly string[], key = keyOf("admin")) =>
    runCli(typeof line === "string" ? line.split(" ") : line, { env: { PAIHAO_URL: server.url, PAIHAO_KEY: key } });
  const post = async (queue: string, input: unknown, id: string) => {
    const headers = keys.as("admin", { "X-Request-Id": id, Prefer: "respond-async" });
    expect((await server.post(queue, input, headers)).status).to.equal(202);
  };
  const queue = async (name: string) => (await server.send(`/v1/queues/${name}`, { headers: keys.as("admin") })).json;
  const linesOf = (text: string) => text.split("\n").slice(0, -1);
  const killTwo = async () => {
    for (const [n, id] of ["one", "two"].entries()) {
      await post("failing", n, id);
      await eventually(async () => (await queue("failing")).dead === n + 1);
    }
  };

  it("lists them, tab-separated and without a heading, and shows one", async () => {
    const all = await paihao("queues");
    expect(all.code).to.equal(0);
    const rows = linesOf(all.stdout).map((line) => line.split("\t"));
    expect(rows.find(([name]) => name === "gated")?.slice(0, 6)).to.deep.equal(["gated", "0", "0", "1", "0", "0"]);
    const json = linesOf((await paihao("queues --json")).stdout).map((line) => JSON.parse(line));
    expect(json.map(({ name }) => name)).to.deep.equal(rows.map(([name]) => name));
    const one = await paihao("queues checked");
    expect(one.stdout)
      .to.match(/^queue +checked\nwaiting +0\n/)
      .and.match(/^input +\{.*"width"/m);
    expect(JSON.parse((await paihao("queues checked --json")).stdout)).to.include({ name: "checked", paused: false });
    expect((await paihao("queues nowhere")).code).to.equal(3);
    const top = JSON.parse((await paihao("top --once --json")).stdout);
    expect(top.items.map(({ name }: { name: string }) => name)).to.include("gated");
    expect((await paihao("top")).stdout, "once where it is no terminal").to.equal(all.stdout);
  });

  it("need a key with the right scope; without one the exit code is 5", async () => {
    const without = await paihao("queues", "");
    expect(without).to.include({ code: 5, stdout: "" });
    expect(without.stderr).to.equal("paihao: A valid API key is required (pass one with --key or PAIHAO_KEY)\n");
    for (const line of ["ls gated", "pause gated", "dead delete gated --all --yes", "dead retry gated --all"]) {
      expect((await paihao(line, keyOf("user"))).code, line).to.equal(5);
    }
    const first = await runCli(["--key", keyOf("admin"), "--url", server.url, "queues", "gated"]);
    expect(first.code, "before the command as well as behind it").to.equal(0);
    expect((await paihao(`queues gated --key ${keyOf("admin")}`, "wrong")).code).to.equal(0);
  });

  it("are paused and resumed", async () => {
    const paused = await paihao("pause default");
    expect(paused).to.include({ code: 0, stdout: "" });
    expect(paused.stderr).to.equal(
      "default is paused: 0 tasks wait, and 0 still run; to continue: paihao resume default\n",
    );
    await post("default", 1, "one");
    expect((await paihao("pause default")).stderr).to.include("1 task waits");
    expect(JSON.parse((await paihao("resume default --json")).stdout)).to.include({ name: "default", paused: false });
    await eventually(async () => (await queue("default")).waiting === 0);
  });

  it("name their tasks by label too, in lists and while one is watched", async () => {
    const headers = keys.as("admin", { "X-Request-Id": "named", Prefer: "respond-async" });
    const path = "/v1/queues/checked/requests?label=page%20of%20ada&delay=3600";
    expect((await server.send(path, { method: "POST", headers, body: { width: 1 } })).status).to.equal(202);
    expect((await paihao("ls checked --state scheduled")).stdout).to.match(/^named\t.*\tpage of ada/);
    const watched = await paihao("watch named --timeout 1s");
    expect(watched.stderr).to.match(/^named \(page of ada\): scheduled/);
  });

  it("have events, the latest last, which are followed as they happen", async () => {
    await paihao("pause default");
    const told = linesOf((await paihao("events")).stdout);
    expect(told.at(-1)).to.match(/^[\d-]{10} [\d:]{8} {2}queue-paused {6}default {2}by admin$/);
    const [last] = linesOf((await paihao("events --limit 1 --json")).stdout).map((line) => JSON.parse(line));
    expect(last).to.include({ kind: "queue-paused", queue: "default", by: "admin" });
    const env = { PAIHAO_URL: server.url, PAIHAO_KEY: keyOf("viewer") };
    const following = startCli(["events", "--follow"], { env });
    await following.until(/queue-paused/);
    await paihao("resume default");
    await following.until(/queue-resumed/);
    following.child.kill("SIGINT");
    expect((await following.ended).code).to.equal(130);
    expect((await paihao("events", keyOf("user"))).code).to.equal(5);
  });

  it("list their tasks by state, without visible pages", async () => {
    const gate = closedGate();
    await post("gated", gate.input, "first");
    await gate.entered;
    for (let n = 0; n < 205; n += 1) await post("gated", closedGate().input, `task-${n}`);
    const waiting = linesOf((await paihao("ls gated --limit 1000")).stdout).map((line) => line.split("\t"));
    expect(waiting.map(([id, place]) => [id, place])).to.deep.equal(
      Array.from({ length: 205 }, (_, n) => [`task-${n}`, String(n + 1)]),
    );
    const some = await paihao("ls gated --limit 201 --json");
    expect(linesOf(some.stdout).map((line) => JSON.parse(line).index)).to.have.lengthOf(201);
    expect(some.stderr).to.match(/^there are more; --limit/);
    expect((await paihao("ls gated --state running")).stdout).to.match(/^first\t[\d.]+ s ago\t1 of 1\t/);
    const none = await paihao("ls gated --state finished");
    expect(none).to.deep.equal({ code: 0, stdout: "", stderr: "gated has no finished tasks\n" });
    await post("default", 1, "done");
    await eventually(async () => (await paihao("ls default --state finished")).stdout.startsWith("done\tsucceeded\t"));
  });

  it("are searched for tasks by text, caller, label and state, and tell who has how many", async () => {
    const gate = closedGate();
    await post("gated", gate.input, "first");
    await gate.entered;
    const hook = encodeURIComponent(`http://127.0.0.1:${await reservePort()}/hook`);
    const path = `/v1/queues/gated/requests?label=order%20of%20ada&webhook=${hook}`;
    const headers = keys.as("user", { "X-Request-Id": "second", Prefer: "respond-async" });
    expect((await server.send(path, { method: "POST", headers, body: gate.input })).status).to.equal(202);
    await post("gated", gate.input, "third");
    expect((await paihao("search ADA")).stdout).to.match(/^second\tgated\twaiting\t.+ ago\torder of ada/);
    const nothing = await paihao("search nobody");
    expect([nothing.stdout, nothing.stderr]).to.deep.equal(["", "nothing was found in 3 listed tasks\n"]);
    const ids = async (line: string) => linesOf((await paihao(line)).stdout).map((row) => row.split("\t")[0]);
    expect(await ids("ls gated --caller user")).to.deep.equal(["second"]);
    expect(await ids("ls gated --caller admin --label thi")).to.deep.equal(["third"]);
    expect((await paihao("ls gated --state failed --caller user")).stderr).to.equal(
      "gated has no failed tasks that match\n",
    );
    const counted = linesOf((await paihao("ls gated --by-caller --json")).stdout).map((line) => JSON.parse(line));
    const none = { scheduled: 0, failed: 0, dead: 0 };
    expect(counted).to.deep.equal([
      { caller: "admin", waiting: 1, running: 1, ...none },
      { caller: "user", waiting: 1, running: 0, ...none },
    ]);
    expect((await paihao("ls gated --by-caller")).stdout).to.equal("admin\t1\t1\t0\t0\t0\nuser\t1\t0\t0\t0\t0\n");
    gate.open();
    // A delivery that has failed is tried again, and says why under its own id.
    await eventually(async () => (await ids("ls paihao.webhooks --state retrying")).length === 1);
    const [delivery = ""] = await ids("ls paihao.webhooks --state retrying");
    expect(delivery).to.match(/^second:webhook:\d+$/);
    expect((await paihao(`history ${delivery}`)).stdout).to.match(/^1\tretrying\t.*ECONNREFUSED/);
    expect((await paihao(`status ${delivery}`)).stdout).to.match(/^last error +.*ECONNREFUSED/m);
    expect((await paihao(`cancel ${delivery}`)).code).to.equal(0);
    expect(await ids("ls paihao.webhooks --state retrying")).to.deep.equal([]);
  });

  it("show what their dead tasks died of, and run or delete those of one error", async () => {
    await killTwo();
    const { stdout, stderr } = await paihao("dead ls failing");
    const [, error = ""] = /^2\t[^\t]+ ago\t[^\t]+ ago\t(task-failed: .+)\n$/.exec(stdout) ?? [];
    expect(error, stdout).not.to.equal("");
    expect(stderr).to.equal("--ids lists the tasks, --error ERROR those of one error\n");
    const { items, others } = JSON.parse((await paihao("dead ls failing --json")).stdout);
    expect([items.length, items[0].count, items[0].error, others]).to.deep.equal([1, 2, error, 0]);
    const dead = (command: string, of: string, ...more: string[]) =>
      paihao(["dead", command, "failing", "--error", of, ...more]);
    expect(linesOf((await dead("ls", error)).stdout)).to.have.lengthOf(2);
    expect((await dead("ls", "task-failed")).stderr).to.equal("failing has no dead tasks with this error\n");
    expect((await dead("retry", "task-failed")).stderr).to.equal("0 tasks of failing will run again\n");
    expect((await dead("retry", error)).stderr).to.equal("2 tasks of failing will run again\n");
    await eventually(async () => (await queue("failing")).dead === 2);
    expect(await dead("delete", error)).to.include({ code: 2, stdout: "" });
    expect((await dead("delete", error, "--yes")).stderr).to.equal("2 tasks of failing deleted\n");
    expect((await paihao("dead ls failing")).stderr).to.equal("failing has no dead tasks\n");
    expect((await paihao("dead retry failing --all --error x")).code).to.equal(2);
  });

  it("list their dead tasks with errors, newest first, and run some or all of them again", async () => {
    await killTwo();
    const { stdout } = await paihao("dead ls failing --ids");
    expect(linesOf(stdout).map((line) => line.split("\t")[0])).to.deep.equal(["two", "one"]);
    expect(stdout).to.match(/1 of 1\t(?!task-failed|The handler failed)\S/);
    const [, thrown = ""] = /1 of 1\t([^\t]*)/.exec(stdout) ?? [];
    const lastError = /^last error +(.*)$/m.exec((await paihao("status one")).stdout);
    expect(lastError?.[1]).to.equal(thrown);
    const collected = await paihao("get one");
    expect(collected.code).to.equal(1);
    expect(collected.stderr)
      .to.match(/^paihao: The task failed\b/)
      .and.contain(`last error: ${thrown}; its stack and log: paihao history one; to run it again: `);
    const [line = ""] = linesOf((await paihao("watch one", keyOf("admin"))).stderr).slice(-1);
    expect(line).to.contain(`last error: ${thrown}; its stack and log: paihao history one`);
    const retryOf = async (key: string) =>
      linesOf((await paihao("dead ls failing --ids", key)).stdout).map((row) => row.split("\t")[4]);
    expect(await retryOf(keyOf("admin"))).to.deep.equal(["", ""]);
    expect(await retryOf(keyOf("viewer")), "who may not").to.deep.equal(["no", "no"]);
    expect((await paihao("get one", keyOf("viewer"))).stderr).not.to.contain("run it again");
    expect((await paihao("status one")).stdout).to.match(/^actions +delete, retry, again$/m);
    expect(await paihao("dead retry default one")).to.include({ code: 3, stdout: "" });
    const some = await paihao("dead retry failing nobody one");
    expect(some).to.include({ code: 3, stdout: "one\n" });
    await eventually(async () => (await queue("failing")).dead === 2);
    const all = await paihao("dead retry failing --all --json");
    expect(JSON.parse(all.stdout)).to.deep.equal({ retried: 2 });
    expect(all.stderr).to.equal("2 tasks of failing will run again\n");
  });

  it("delete dead tasks, but without a person to ask only with --yes, and no others", async () => {
    await killTwo();
    const asked = await paihao("dead delete failing --all");
    expect(asked).to.deep.equal({
      code: 2,
      stdout: "",
      stderr: "paihao: this deletes dead tasks; add --yes if that is intended\n",
    });
    await post("default", 1, "fine");
    expect(await paihao("dead delete default fine --yes")).to.include({ code: 6, stdout: "" });
    await post("giving-up", { status: 422, title: "No" }, "answered");
    await eventually(async () => (await queue("giving-up")).running === 0);
    const failed = await paihao("dead delete giving-up answered nobody --yes");
    expect(failed).to.include({ code: 6, stdout: "" });
    expect(failed.stderr).to.include("answered is failed, but not dead").and.include("nobody: No task");
    const kept = await server.send("/v1/requests/answered", { headers: keys.as("admin") });
    expect(kept.json).to.include({ status: 422, title: "No" });
    expect(await paihao("dead delete failing one --yes")).to.include({ code: 0, stdout: "one\n" });
    expect((await queue("failing")).dead).to.equal(1);
    const all = await paihao("dead delete failing --all --yes");
    expect(all).to.deep.equal({ code: 0, stdout: "", stderr: "1 task of failing deleted\n" });
    // By its older name.
    expect(await paihao("dead delete failing --all --yes --json")).to.include({
      code: 0,
      stdout: '{"deleted":0}\n',
    });
  });

  it("change what holds one, and quiet a worker", async () => {
    const set = await paihao("queues set gated --concurrency 3 --rate 5/1s");
    expect(set.stdout).to.match(/^allowed +5 a second, over all workers \(none declared\)$/m);
    expect(set.stdout).to.match(/^concurrency +3 in each worker process \(1 declared\)$/m);
    const total = await paihao("queues set gated --total 7");
    expect(total.stdout).to.match(/^concurrency +3 in each worker process/m, "is as it was");
    expect(total.stdout).to.match(/^total +7 tasks at a time, over all processes \(none declared\)$/m);
    const row = linesOf((await paihao("queues")).stdout).map((line) => line.split("\t"));
    expect(row.find(([name]) => name === "gated")?.at(-1)).to.equal("7");
    await paihao("queues set gated --concurrency declared --rate declared --total declared");
    const { settings } = await queue("gated");
    expect(settings).to.deep.equal({
      concurrency: { declared: 1, now: 1 },
      total: { declared: null, now: null },
      rate: { declared: null, now: null },
    });
    for (const line of [
      "queues set gated",
      "queues set gated --rate 5",
      "queues set gated --concurrency 0",
      "queues set gated --total none",
    ])
      expect((await paihao(line)).code, line).to.equal(2);
    const workers = linesOf((await paihao("workers")).stdout).map((line) => line.split("\t"));
    const id = workers[0]?.[0] ?? "";
    expect((await paihao(`workers quiet ${id}`)).code).to.equal(0);
    expect((await paihao("workers")).stdout).to.match(/\tquiet$/m);
    expect((await paihao(`workers resume ${id}`)).code).to.equal(0);
    expect((await paihao("workers quiet nobody")).code).to.equal(3);
  });
});

describe("paihao and turns", function () {
  this.timeout(60_000);
  const HANDLERS = new URL("../fixtures/handlers/turn-pages", import.meta.url).pathname;
  let server: TestServer;
  before(async () => {
    server = await startServer({ HANDLERS });
  });
  after(() => server.stop());
  const paihao = (line: string) => runCli(line.split(" "), { env: { PAIHAO_URL: server.url } });
  const take = async (label: string) => {
    const path = `/v1/queues/gpu/requests?presence=3600&label=${label}`;
    return (await server.send(path, { method: "POST", headers: { Prefer: "respond-async" } })).json.id as string;
  };

  it("shows who holds one, changes how many there are, and ends one", async () => {
    const [ada, bob, eve] = [await take("ada"), await take("bob"), await take("eve")];
    const held = await paihao("ls gpu --state running");
    expect(held.stdout).to.match(new RegExp(`^${ada}\t[\\d.]+ m?s ago\t1 of 1\t\t\tada\t`));
    expect((await paihao(`status ${ada}`)).stdout)
      .to.match(/^state +its turn has come$/m)
      .and.not.contain("progress");
    const shown = (await paihao("queues gpu")).stdout;
    expect(shown).to.match(/^queue +gpu\n/, "and not that it has no worker");
    expect(shown)
      .to.match(/^running +1 of 1 turn$/m)
      .and.match(/^total +1 turn at a time, over all processes$/m)
      .and.match(/^longest turn +2 h$/m);
    const set = await paihao("queues set gpu --total 2");
    expect(set.stdout).to.match(/^total +2 turns at a time, over all processes \(1 declared\)$/m);
    expect((await paihao("ls gpu --state running")).stdout).to.contain(bob);
    expect((await paihao(`cancel ${ada}`)).stdout).to.equal(`${ada}\tcanceled\n`);
    expect((await paihao("ls gpu --state running")).stdout)
      .to.contain(eve)
      .and.not.contain(ada);
    await paihao("queues set gpu --total declared");
    await paihao(`cancel ${bob} ${eve}`);
    expect((await paihao("queues gpu")).stdout).to.match(/^total +1 turn at a time, over all processes$/m);
    expect((await paihao("cancel --help")).stdout).to.contain("end turns");
  });
});
