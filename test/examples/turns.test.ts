import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const FOLDER = path.join(ROOT, "examples");
const run = promisify(execFile);

/** A folder with a command `npx`, which runs the `paihao` of the build. */
async function withNpx(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "paihao-npx-"));
  const command = [process.execPath, ...builtCommand()].map((part) => `'${part}'`).join(" ");
  await writeFile(path.join(folder, "npx"), `#!/bin/sh\nshift\nexec ${command} "$@"\n`, { mode: 0o755 });
  return folder;
}

describe("the examples of turns", function () {
  this.timeout(60_000);
  let folder: string;
  let server: TestServer;
  before(async () => {
    folder = await withNpx();
  });
  after(() => rm(folder, { recursive: true }));
  afterEach(() => server?.stop());

  const shell = (command: string, env: Readonly<Record<string, string>> = {}) =>
    run("sh", ["-c", command], {
      cwd: ROOT,
      env: { PATH: `${folder}:${process.env.PATH}`, PAIHAO_URL: server.url, ...env },
    });
  const waiting = async (queue: string) => (await server.send(`/v1/queues/${queue}`)).json.waiting as number;

  it("gpu: the commands of its README train one after the other", async function () {
    const version = await run("python3", ["--version"]).catch(() => undefined);
    if (!version) return this.skip();
    server = await startServer({ HANDLERS: path.join(FOLDER, "gpu") });
    const readme = await readFile(path.join(FOLDER, "gpu/README.md"), "utf8");
    const commands = readme.match(/^npx paihao turn .*?(?= +#)/gm) ?? [];
    expect(commands).to.have.length(2);
    const trained = await Promise.all(commands.map((command) => shell(command)));
    const fences = trained.map(({ stdout }) => {
      const [fence] = /\d+/.exec(stdout) ?? [];
      expect(stdout).to.equal([1, 2, 3].map((epoch) => `turn ${fence}: epoch ${epoch} of 3\n`).join(""));
      return fence;
    });
    expect(new Set(fences).size).to.equal(2);
    const { items } = (await server.send("/v1/queues/gpu/finished")).json;
    expect(items.map(({ label }: { label: string }) => label)).to.have.members(["Ada", "Grace"]);
    const [later, earlier] = await Promise.all(
      items.map(async ({ id }: { id: string }) => (await server.send(`/v1/requests/${id}/status`)).json),
    );
    expect(Date.parse(later.startedAt)).to.be.at.least(Date.parse(earlier.finishedAt));
  });

  it("deploy-lock: deployments go one after the other, and a late one is refused by its fence", async () => {
    server = await startServer({ HANDLERS: path.join(FOLDER, "deploy-lock") });
    const target = path.join(folder, "deployed");
    const deploy = (version: string) =>
      shell("sh examples/deploy-lock/ci.sh", { GITHUB_SHA: version, DEPLOY_TO: target });
    // On a slow machine, the first would otherwise have ended before the second has started.
    const { id } = (await server.send("/v1/queues/deploy/requests", { method: "POST" })).json;
    const first = deploy("one");
    await eventually(async () => (await waiting("deploy")) === 1);
    const second = deploy("two");
    await eventually(async () => (await waiting("deploy")) === 2);
    await server.send(`/v1/requests/${id}/done`, { method: "POST" });
    expect((await first).stdout).to.equal("deploying one\ndeployed one\n");
    expect((await second).stdout).to.equal("deploying two\ndeployed two\n");
    const deployed = await readFile(target, "utf8");
    expect(deployed).to.match(/^\d+ two\n$/);
    const late = shell("examples/deploy-lock/deploy.sh", { DEPLOY_TO: target, PAIHAO_FENCE: "1" });
    const refused = await late.catch((error: { code: number; stderr: string }) => error);
    expect(refused).to.deep.include({ code: 1, stderr: "not deployed: two has been deployed meanwhile\n" });
    expect(await readFile(target, "utf8")).to.equal(deployed);
  });
});
