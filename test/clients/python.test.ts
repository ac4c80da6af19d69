import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { ROOT } from "../shared/root.ts";
import { type Control, startControl } from "./control.ts";

const FOLDER = path.join(ROOT, "clients/python");
const TESTS = readdirSync(path.join(FOLDER, "tests")).filter((name) => name.startsWith("test_"));
/** Debian's: the one that comes first in PATH may be another. */
const PYTHON = "/usr/bin/python3";

const run = promisify(execFile);
const has = (...args: [string, string[]]) =>
  run(...args).then(
    () => true,
    () => false,
  );

describe("the Python package", function () {
  this.timeout(300_000);
  let server: TestServer;
  let control: Control;
  before(async function () {
    if (!(await has(PYTHON, ["--version"]))) return this.skip();
    server = await startServer({ HANDLERS: path.join(ROOT, "test/fixtures/handlers/python") });
    control = await startControl(server);
  });
  after(async () => {
    await control?.stop();
    await server?.stop();
  });

  for (const file of TESTS) {
    it(`passes ${file}`, async () => {
      const env = { PATH: process.env.PATH, PYTHONPATH: "src", PYTHONDONTWRITEBYTECODE: "1", ...control.env };
      const args = ["-W", "error::ResourceWarning", "-m", "unittest", "-v", `tests.${path.basename(file, ".py")}`];
      await run(PYTHON, args, { cwd: FOLDER, env, timeout: 240_000, killSignal: "SIGKILL" });
    });
  }

  it("has no error of types", async function () {
    if (!(await has("mypy", ["--version"]))) return this.skip();
    const env = { ...process.env, MYPYPATH: "src" };
    await run("mypy", ["--cache-dir", "/dev/null", "src", "tests"], { cwd: FOLDER, env });
  });

  it("is built as a wheel that can be imported, with its types, and an sdist", async function () {
    if (!(await has(PYTHON, ["-c", "import build, setuptools, wheel"]))) return this.skip();
    const folder = await mkdtemp(path.join(tmpdir(), "paihao-python-"));
    try {
      const env = { ...process.env, PATH: `${path.dirname(PYTHON)}:${process.env.PATH}` };
      await run("npm", ["run", "--silent", "python", "--", "--outdir", folder], { cwd: ROOT, env });
      const made = await readdir(folder);
      expect(made.map((name) => /[^.]+$/.exec(name)?.[0])).to.have.members(["whl", "gz"]);
      const wheel = path.join(folder, made.find((name) => name.endsWith(".whl")) ?? "");
      const script = "import paihao, zipfile, sys; print(paihao.__file__, *zipfile.ZipFile(sys.argv[1]).namelist())";
      const { stdout } = await run(PYTHON, ["-c", script, wheel], { cwd: folder, env: { PYTHONPATH: wheel } });
      expect(stdout).to.contain(`${wheel}/paihao/__init__.py`).and.contain("paihao/py.typed");
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
