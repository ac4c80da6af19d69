import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { sbom } from "../../scripts/runtime-packages.ts";
import { ROOT } from "../shared/root.ts";

const read = (file: string) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

describe("the bill of materials", function () {
  this.timeout(120_000);

  it("has the packages that users install and browsers load, with their dependencies, and none for development", () => {
    const { components, dependencies, metadata } = sbom(ROOT);
    const names = components.map(({ name }) => name);
    expect(metadata.component.name).to.equal("paihao");
    expect(names).to.include.members(Object.keys(read("package.json").dependencies));
    expect(names).to.include.members([
      "koa",
      "koa-compose",
      "@ioredis/commands",
      "swagger-ui-dist",
      "uplot",
      "preact",
      "htm",
    ]);
    expect(names).to.not.include.members(["mocha", "typescript", "bullmq", "@scarf/scarf"]);
    const refs = components.map((component) => component["bom-ref"]);
    expect(new Set(refs).size).to.equal(refs.length);
    const known = new Set([metadata.component["bom-ref"], ...refs]);
    for (const { ref, dependsOn } of dependencies)
      for (const each of [ref, ...dependsOn]) expect(known).to.include(each);
  });

  it("is the same each time", () => {
    expect(sbom(ROOT)).to.deep.equal(sbom(ROOT));
  });
});

describe("packages with install scripts", () => {
  it("are those that package.json names, whose scripts need not run", () => {
    const packages = Object.entries<{ hasInstallScript?: boolean }>(read("package-lock.json").packages);
    const names = packages.flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript === true ? [path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)] : [],
    );
    const { allowScripts } = read("package.json");
    expect(names.sort()).to.deep.equal(Object.keys(allowScripts).sort());
    expect(Object.values(allowScripts)).to.deep.equal(names.map(() => false));
  });
});

describe("the audit of packages", function () {
  this.timeout(120_000);
  let server: Server | undefined;
  // npm remembers what it has heard of an advisory.
  let cache = "";
  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), "paihao-audit-"));
  });
  afterEach(() => {
    server?.close();
    rmSync(cache, { recursive: true });
  });

  /** The audit, with a registry that answers so. */
  async function audit(status: number, body: unknown) {
    server = createServer((req, res) => {
      req.resume();
      res.writeHead(req.method === "POST" ? status : 404, { "Content-Type": "application/json" });
      res.end(JSON.stringify(body));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const child = spawn(process.execPath, ["--import", "tsx", "scripts/audit.ts"], {
      cwd: ROOT,
      env: { ...process.env, npm_config_registry: registry, npm_config_fetch_retries: "0", npm_config_cache: cache },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const [code] = await once(child, "close");
    return { code, lines: said.trim().split("\n") };
  }
  const advisory = (severity: string) => [
    {
      ...{ id: 1, url: "https://example.com/1", title: "Takes long", severity, vulnerable_versions: "<999.0.0" },
      ...{ cwe: [], cvss: { score: 0, vectorString: null } },
    },
  ];

  it("fails if a package that users run has a high or critical finding, direct or not", async () => {
    const { code, lines } = await audit(200, {
      "@ioredis/commands": advisory("critical"),
      "koa-compose": advisory("high"),
    });
    expect(code).to.equal(1);
    expect(lines.filter((line) => line.startsWith("✘ ")).map((line) => line.split(" ")[1])).to.include.members([
      "@ioredis/commands",
      "koa-compose",
    ]);
    expect(lines.at(-1)).to.match(/^0 passed, [1-9]\d* failed, 0 skipped$/);
  });

  it("lists other findings, and passes", async () => {
    const { code, lines } = await audit(200, { mocha: advisory("critical"), "koa-compose": advisory("moderate") });
    expect(code).to.equal(0);
    expect(lines.find((line) => line.startsWith("▸ mocha "))).to.contain("critical, development only: Takes long");
    expect(lines.at(-1)).to.equal("1 passed, 0 failed, 0 skipped");
  });

  it("says in one line that the registry has no audit, and goes on", async () => {
    const { code, lines } = await audit(405, {});
    expect(code).to.equal(0);
    expect(lines).to.have.length(2);
    expect(lines[0]).to.match(/^▸ going on without an audit of packages: 405 /);
    expect(lines[1]).to.equal("0 passed, 0 failed, 1 skipped");
  });
});
