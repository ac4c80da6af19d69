import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { testKeys } from "../helpers/http/api-keys.ts";
import { exchange } from "../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { eventually } from "../shared/eventually.ts";

describe("paihao start", function () {
  this.timeout(60_000);
  const open: ServerProcess[] = [];
  afterEach(() => endProcesses(open.splice(0)));
  const start = async (env: Readonly<Record<string, string>> = {}) => {
    const server = await startProcess({ PORT: "0", KEY_PREFIX: uniquePrefix(), ...env });
    open.push(server);
    return server;
  };

  it("says in its log which variable has a name that is probably misspelt", async () => {
    const { logged } = await start({ RESULT_TLL: "1h" });
    const warning = await eventually(() => logged.find((line) => line.includes("nothing reads")) ?? false);
    expect(JSON.parse(warning || "")).to.include({ variable: "RESULT_TLL", meant: "RESULT_TTL" });
  });

  it("prints a submission that works, also with keys, with a sample of the input of a queue", async () => {
    const dir = mkdtempSync(path.join(tmpdir(), "paihao-test-"));
    const input = { type: "object", properties: { name: { type: "string", minLength: 1 } }, required: ["name"] };
    writeFileSync(path.join(dir, "queues.json"), JSON.stringify({ greet: { input } }));
    const keys = testKeys({ owner: ["submit"] });
    const { said } = await start({ ...keys.env, HANDLERS: dir });
    const command = (await eventually(() => said.find((line) => line.startsWith("try: ")) ?? false)) || "";
    const [, key] = keys.as("owner").Authorization?.split(" ") ?? [];
    const answered = spawnSync("sh", ["-c", command.replace("try: ", "")], {
      encoding: "utf8",
      env: { ...process.env, PAIHAO_KEY: key },
    });
    rmSync(dir, { recursive: true });
    expect(answered.stdout).to.match(/^HTTP\/1.1 202 /);
    expect(command).to.include(`/v1/queues/greet/requests -H 'Prefer: respond-async'`);
  });

  it("says that it stops, what it waits for, and that it has stopped", async () => {
    const { child, ended, said, url } = await start();
    const headers = { "Content-Type": "application/json", Prefer: "respond-async" };
    const answer = await fetch(`${url}/v1/requests`, { method: "POST", headers, body: '{"seconds":3}' });
    const { id } = (await answer.json()) as { id: string };
    await eventually(async () => {
      const status = (await (await fetch(`${url}/v1/requests/${id}/status`)).json()) as { state: string };
      return status.state === "running";
    });
    child.kill("SIGTERM");
    expect(await ended).to.equal(0);
    const stopping = said.filter((line) => /stop|waits/.test(line)).join("\n");
    expect(stopping).to.match(
      /^paihao all is stopping: SIGTERM; .*\npaihao all waits for 1 running task and \d connections?, for 20 s at most\npaihao all has stopped after [\d.]+ s$/,
    );
  });
});

/** A handler that forgets to wait for a promise, which fails. */
const FORGETFUL = `import { defineHandler } from "paihao";
export const forgetful = defineHandler({ queue: "forgetful", run: () => { Promise.reject(new Error("forgotten")); return 1; } });
`;

describe("an unhandled rejection", () => {
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-test-"));
  const prefix = uniquePrefix();
  let server: ServerProcess;
  before(async () => {
    writeFileSync(path.join(dir, "forgetful.mjs"), FORGETFUL);
    server = await startProcess({ HANDLERS: dir, KEY_PREFIX: prefix, PORT: "0" });
  });
  after(async () => {
    await endProcesses([server]);
    rmSync(dir, { recursive: true });
    await removeKeys(storeUrl(), prefix);
  });

  it("is logged, and the process goes on with everything else", async () => {
    const submit = () => exchange(new URL("/v1/queues/forgetful/requests", server.url), { method: "POST", body: {} });
    const { json, headers } = await submit();
    expect(json).to.equal(1);
    const words = ["the process goes on", "forgotten", `"requestId":"${headers["x-request-id"]}"`];
    await eventually(() => server.logged.some((line) => words.every((word) => line.includes(word))));
    expect((await submit()).json).to.equal(1);
    expect(server.child.exitCode).to.equal(null);
  });
});
