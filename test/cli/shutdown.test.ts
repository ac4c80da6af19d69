import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";
import { childrenOf, processGone } from "../helpers/process.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";

const PATIENCE_MS = 60_000;

/** A command that has just been started. */
interface Starting {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  printed(): string;
}

describe("a signal before the server is ready", function () {
  this.timeout(2 * PATIENCE_MS);
  let dir = "";
  const open: ChildProcess[] = [];
  before(function () {
    if (process.platform !== "linux") this.skip();
  });
  beforeEach(() => {
    dir = mkdtempSync(path.join(tmpdir(), "paihao-signals-"));
  });
  afterEach(async () => {
    for (const child of open.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    rmSync(dir, { recursive: true });
  });

  const start = (args: readonly string[], env: Readonly<Record<string, string>>): Starting => {
    const child = spawn(process.execPath, [...builtCommand(), ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH, TMPDIR: dir, HOME: dir, LOG_LEVEL: "error", PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    open.push(child);
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
      });
    return { child, ended: once(child, "exit"), printed: () => printed };
  };
  /** The first processes that a command has started, such as its store. */
  const childrenSoon = (child: ChildProcess) =>
    eventually(() => {
      const children = childrenOf(child.pid);
      return children.length > 0 && children;
    }, PATIENCE_MS) as Promise<number[]>;
  const folders = () => readdirSync(dir).filter((name) => name.startsWith("paihao-"));
  const nothingLeft = async (children: readonly number[]) => {
    await Promise.all(children.map(processGone));
    await eventually(() => folders().length === 0);
  };

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it(`ends it with its store, and says so (${signal})`, async () => {
      const { child, ended, printed } = start(["start"], { STORE: "embedded" });
      const children = await childrenSoon(child);
      child.kill(signal);
      expect(await ended).to.deep.equal([0, null]);
      expect(printed()).to.match(
        new RegExp(`^paihao all is stopping: ${signal};[^\n]*\npaihao all has stopped after [^\n]*\n$`),
      );
      await nothingLeft(children);
    });
  }

  for (const store of ["embedded", "native"]) {
    it(`leaves no ${store} store behind if it is SIGKILL`, async () => {
      const { child, ended } = start(["start"], { STORE: store, DATA_DIR: path.join(dir, "data") });
      const children = await childrenSoon(child);
      child.kill("SIGKILL");
      await ended;
      await nothingLeft(children);
    });
  }

  it("ends a start that waits for a store that loads its data", async () => {
    const asked = new EventEmitter();
    const loading = net.createServer((socket) =>
      socket
        .on("error", () => undefined)
        .on("data", () => {
          socket.write("-LOADING Redis is loading the dataset in memory\r\n");
          asked.emit("ping");
        }),
    );
    await once(loading.listen(0, "127.0.0.1"), "listening");
    try {
      const { port } = loading.address() as net.AddressInfo;
      const { child, ended } = start(["start"], { REDIS_URL: `redis://127.0.0.1:${port}` });
      await once(asked, "ping");
      child.kill("SIGTERM");
      expect(await ended).to.deep.equal([0, null]);
    } finally {
      loading.close();
    }
  });

  it("ends a start that waits for a handler file", async () => {
    writeFileSync(
      path.join(dir, "endless.mjs"),
      'console.log("loading"); await new Promise(() => setInterval(() => {}, 1000));',
    );
    const { child, ended, printed } = start(["start"], { HANDLERS: dir, REDIS_URL: storeUrl() });
    await eventually(() => printed().includes("loading"));
    child.kill("SIGTERM");
    expect(await ended).to.deep.equal([0, null]);
  });

  it("ends the demo with its store", async () => {
    const { child, ended, printed } = start(["demo"], {});
    const children = await childrenSoon(child);
    child.kill("SIGINT");
    expect(await ended).to.deep.equal([0, null]);
    expect(printed()).not.to.contain("ready");
    await nothingLeft(children);
  });

  describe("of several processes", () => {
    const several = () => ({ WEB_CONCURRENCY: "2", REDIS_URL: storeUrl(), KEY_PREFIX: uniquePrefix() });

    it("ends them all (SIGTERM)", async () => {
      const { child, ended, printed } = start(["start"], several());
      const children = await childrenSoon(child);
      child.kill("SIGTERM");
      expect(await ended).to.deep.equal([0, null]);
      expect(printed()).to.match(/^paihao all is stopping: SIGTERM;[^\n]*\npaihao all has stopped after [^\n]*\n$/);
      await nothingLeft(children);
    });

    it("replaces them once they are ready (SIGHUP)", async () => {
      const { child, ended, printed } = start(["start"], several());
      const [first = 0] = await childrenSoon(child);
      child.kill("SIGHUP");
      await processGone(first);
      expect(printed()).to.match(/ is ready on /);
      child.kill("SIGTERM");
      expect(await ended).to.deep.equal([0, null]);
    });
  });
});
