import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { guideFolder, readGuide } from "./guide.ts";

/** The Python that has some modules: another one may stand before that of the system. */
const pythonWith = (modules: string) =>
  ["python3", "/usr/bin/python3"].find((python) => spawnSync(python, ["-c", `import ${modules}`]).status === 0);

/** Each application is asked for one report twice, as by two clicks, and must answer with a page of one task. */
describe("docs/your-app.md", function () {
  this.timeout(60_000);
  let folder = "";
  let server: TestServer;
  let env: NodeJS.ProcessEnv;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    folder = guideFolder();
    server = await startServer({ ROLE: "api" });
    env = { ...process.env, PAIHAO_URL: server.url };
    process.env.PAIHAO_URL = server.url;
    for (const [, name = "", code = ""] of readGuide("your-app.md").matchAll(
      /^```(?:js|python)\n(?:\/\/|#) (\S+)\n(.*?)^```/gms,
    )) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), code);
    }
  });
  afterEach(async () => {
    delete process.env.PAIHAO_URL;
    for (const child of children.splice(0)) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const load = (name: string) => import(pathToFileURL(path.join(folder, name)).href);
  const clicked = async (click: () => Promise<Response>) => {
    for (const _ of ["once", "twice"]) {
      const answer = await click();
      expect(answer.status).to.equal(202);
      const { before, page } = (await answer.json()) as { before: number; page: string };
      expect(before).to.equal(0);
      const seen = await server.send(page);
      expect(seen.json).to.include({ id: "report-7", state: "waiting" });
    }
    expect((await server.send("/v1/queues/default")).json.waiting).to.equal(1);
  };
  const post = (url: string) => () =>
    fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"seconds":3}' });
  const python = async (command: string, args: readonly string[], port: number) => {
    const child = spawn(command, args, { cwd: folder, env, stdio: "ignore" });
    children.push(child);
    await once(child, "spawn");
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) !== undefined);
    await clicked(post(`http://127.0.0.1:${port}/reports/7`));
  };

  it("works in Express", async () => {
    const { app } = await load("express.mjs");
    const listener: Server = app.listen(0, "127.0.0.1");
    await once(listener, "listening");
    try {
      await clicked(post(`http://127.0.0.1:${(listener.address() as AddressInfo).port}/reports/7`));
    } finally {
      listener.close();
      listener.closeAllConnections();
    }
  });

  it("works in Next, whose route handlers are functions of the Fetch API", async () => {
    const { POST } = await load("app/reports/[id]/route.js");
    const request = () => new Request("http://127.0.0.1/reports/7", { method: "POST", body: '{"seconds":3}' });
    await clicked(() => POST(request(), { params: Promise.resolve({ id: "7" }) }));
  });

  it("works in FastAPI", async function () {
    const command = pythonWith("fastapi, uvicorn");
    if (command === undefined) this.skip();
    const port = await reservePort();
    await python(command, ["-m", "uvicorn", "fast:app", "--port", String(port)], port);
  });

  it("works in Django", async function () {
    const command = pythonWith("django");
    if (command === undefined) this.skip();
    const port = await reservePort();
    const settings = 'SECRET_KEY = "test"\nROOT_URLCONF = "urls"\nALLOWED_HOSTS = ["127.0.0.1"]\n';
    writeFileSync(path.join(folder, "settings.py"), settings);
    const run = [
      "-m",
      "django",
      "runserver",
      "--noreload",
      "--settings",
      "settings",
      "--pythonpath",
      ".",
      String(port),
    ];
    await python(command, run, port);
  });
});
