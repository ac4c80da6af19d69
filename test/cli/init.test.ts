import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parse } from "yaml";
import { readConfig } from "../../src/config/config.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { builtCommand } from "../helpers/build.ts";
import { runLine } from "../helpers/cli.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const FILES = [
  ...[".dockerignore", ".env", ".gitignore", "Dockerfile", "README.md", "compose.yaml", "handlers/greet.ts"],
  ...["package.json", "test/greet.test.ts", "tsconfig.json"],
];

/** The working folder of a process of this user; undefined if there is none. */
function folderOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** The whole way, with npm, is in scripts/install.ts. */
describe("paihao init", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-init-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const init = (line: string) => runLine(`paihao init ${line} --no-install`, { cwd: dir, env: {} });
  const put = (name: string, text: string) => writeFileSync(path.join(dir, name), text);
  const read = (name: string) => readFileSync(path.join(dir, name), "utf8");
  const own = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
  const filesIn = (folder: string) =>
    readdirSync(path.join(dir, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(path.join(dir, folder), path.join(entry.parentPath, entry.name)))
      .sort();
  const dockerfileIn = (folder: string): string => read(path.join(folder, "Dockerfile"));

  for (const python of ["", "--python "]) {
    it(`keeps the files of keys that the guides make out of repositories and images ${python}`, async () => {
      expect((await init(`. ${python}--from ^0.1.0`)).code).to.equal(0);
      for (const name of ["keys", "shop.key"]) put(name, "");
      execFileSync("git", ["init", "--quiet", dir]);
      const ignored = execFileSync("git", ["-C", dir, "check-ignore", "keys", "shop.key", ".paihao/redis"]);
      expect(String(ignored)).to.equal("keys\nshop.key\n.paihao/redis\n");
      expect(read(".dockerignore").split("\n")).to.include.members(["keys", "*.key"]);
    });
  }

  it("writes a project into a new folder, and prints what it wrote and how to go on", async () => {
    const { code, printed } = await init("'My Tasks' --from ^0.1.0");
    expect(code, printed).to.equal(0);
    expect(filesIn("My Tasks")).to.deep.equal([...FILES].sort());
    for (const file of FILES) expect(printed).to.contain(path.join("My Tasks", file));
    expect(printed).to.contain("npm start").and.contain("npm test").and.contain("paihao is ^0.1.0");
    const manifest = JSON.parse(read("My Tasks/package.json"));
    expect(manifest).to.include({ name: "my-tasks", private: true, type: "module" });
    expect(manifest.dependencies).to.include({ paihao: "^0.1.0", zod: own.dependencies.zod });
    for (const name of Object.keys(parse(read("My Tasks/compose.yaml"), { merge: true }).services.api.environment)) {
      expect(VARIABLES).to.have.property(name);
    }
    expect(dockerfileIn("My Tasks")).to.contain("COPY package*.json").and.not.contain("vendor");
    for (const [, name = ""] of read("My Tasks/.env").matchAll(/^(?:# )?([A-Z_]+)=/gm)) {
      expect(VARIABLES).to.have.property(name);
    }
  });

  it("keeps the package that it was run from in the project, for npm and for compose.yaml, and asks no registry for it", async () => {
    const { code, printed } = await init(".");
    expect(code, printed).to.equal(0);
    const packed = `vendor/paihao-${own.version}.tgz`;
    expect(filesIn(".")).to.include(packed);
    expect(printed).to.contain(`paihao is file:${packed}, from ${ROOT.replace(/\/$/, "")}`);
    expect(JSON.parse(read("package.json")).dependencies.paihao).to.equal(`file:${packed}`);
    expect(dockerfileIn("."), "before npm installs").to.match(/COPY vendor \.\/vendor\n *RUN npm install/);
    const again = await init(`again --from ./${packed}`);
    expect(again.code, again.printed).to.equal(0);
    expect(readFileSync(path.join(dir, "again", packed)).equals(readFileSync(path.join(dir, packed)))).to.equal(true);
  });

  const installCommand = () => {
    const [bin = ""] = builtCommand();
    mkdirSync(path.join(dir, "node_modules/.bin"), { recursive: true });
    symlinkSync(bin, path.join(dir, "node_modules/.bin/paihao"));
  };

  it("makes a project in Python, whose worker and tests need no package", async function () {
    const { code, printed } = await init(". --python --from ^0.1.0");
    expect(code, printed).to.equal(0);
    expect(filesIn(".").filter((file) => !file.startsWith("paihao/"))).to.deep.equal(
      [
        ...[".dockerignore", ".env", ".gitignore", "Dockerfile", "README.md", "compose.yaml", "handlers/queues.json"],
        ...["package.json", "test_worker.py", "worker.py"],
      ].sort(),
    );
    expect(printed).to.contain("npm run worker");
    expect(JSON.parse(read("package.json")).dependencies).to.deep.equal({ paihao: "^0.1.0" });
    const { services } = parse(read("compose.yaml"), { merge: true });
    for (const name of ["api", "worker"]) {
      const { build, cap_drop } = services[name];
      expect(read("Dockerfile")).to.match(new RegExp(`^FROM \\S+ AS ${build.target}$`, "m"));
      expect(cap_drop).to.deep.equal(["ALL"]);
    }
    expect(readConfig(services.api.environment).servedHosts?.names).to.include(
      new URL(services.worker.environment.PAIHAO_URL).hostname,
    );
    const python = await promisify(execFile)("python3", ["--version"]).catch(() => undefined);
    if (!python) return this.skip();
    installCommand();
    const env = { PATH: process.env.PATH, HOME: dir, PYTHONDONTWRITEBYTECODE: "1" };
    const { stderr } = await promisify(execFile)("python3", ["-m", "unittest"], { cwd: dir, env });
    expect(stderr).to.match(/^Ran 2 tests[\s\S]*\nOK$/m);
  });

  it("makes a project whose server ends when npm is ended", async () => {
    expect((await init(". --from ^0.1.0")).code).to.equal(0);
    installCommand();
    const env = { PATH: process.env.PATH, HOME: dir, HANDLERS: "", STORE: "embedded", PORT: "0", LOG_LEVEL: "info" };
    const npm = spawn("npm", ["start"], { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
    const running = () => readdirSync("/proc").filter((pid) => folderOf(pid) === dir);
    await eventually(() => /is ready on/.test(printed)).catch((error: unknown) => {
      for (const pid of running()) process.kill(Number(pid), "SIGKILL");
      throw error;
    });
    const all = running();
    expect(all, "npm, the server and its store").to.have.lengthOf(3);
    npm.kill("SIGTERM");
    await once(npm, "close");
    await eventually(() => !running().some((pid) => all.includes(pid)));
    expect(printed).to.contain("has stopped");
  });

  it("keeps a README.md and .git, and refuses a folder that has anything else", async () => {
    put("README.md", "mine");
    mkdirSync(path.join(dir, ".git"));
    const { code, printed } = await init(". --from ^0.1.0");
    expect(code, printed).to.equal(0);
    expect(read("README.md")).to.equal("mine");
    expect(filesIn(".")).to.deep.equal([...FILES].sort());
    const before = FILES.map(read);
    const again = await init(". --from ^0.2.0");
    expect(again.code).to.equal(6);
    expect(again.printed).to.contain(
      `${dir} is not empty: it has .dockerignore, .env, .gitignore …; nothing was written`,
    );
    expect(FILES.map(read)).to.deep.equal(before);
  });

  it("says so if there is a file in place of the folder", async () => {
    put("tasks", "");
    const { code, printed } = await init("tasks");
    expect(code).to.equal(1);
    expect(printed).to.match(/^paihao: .*tasks.* cannot be read: ENOTDIR/m);
  });
});
