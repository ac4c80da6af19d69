import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { environmentOf, reachesBuilder, readDockerfile } from "../../scripts/dockerfile.ts";
import { projectFiles } from "../../src/cli/init/project.ts";
import { readConfig } from "../../src/config/config.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { ROOT } from "../shared/root.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const manifest = JSON.parse(read("package.json"));

describe("the Dockerfile", () => {
  const stages = readDockerfile(read("Dockerfile"));
  const image = stages.at(-1);
  if (image === undefined) throw new Error("the Dockerfile has no stage");
  const lines = (word: string) => image.instructions.filter((instruction) => instruction.word === word);

  it("builds in stages on one Node image that the package supports", () => {
    expect(stages).to.have.length.above(1);
    expect(new Set(stages.map((stage) => stage.image))).to.have.property("size", 1);
    const major = Number(/^node:(\d+)\.\d+\.\d+-/.exec(image.image)?.[1]);
    expect(major).to.be.at.least(Number(/\d+/.exec(manifest.engines.node)?.[0]));
  });

  it("copies only what exists and is sent to the builder, or what an earlier stage made", () => {
    const ignore = read(".dockerignore");
    for (const [number, { instructions }] of stages.entries()) {
      for (const { args, flags } of instructions.filter(({ word }) => word === "COPY")) {
        for (const source of args.slice(0, -1)) {
          if (flags.from === undefined) {
            expect(existsSync(join(ROOT, source)), source).to.equal(true);
            expect(reachesBuilder(ignore, source), source).to.equal(true);
          } else {
            expect(stages.slice(0, number).map(({ name }) => name)).to.include(flags.from);
            expect(source).to.match(/^\/app\/(?:node_modules|dist)$/);
          }
        }
      }
    }
  });

  it("sends no secrets, data or history to the builder", () => {
    for (const path of [".env", ".git", ".paihao", "node_modules", "dist", "test", ".npmrc"]) {
      expect(reachesBuilder(read(".dockerignore"), path), path).to.equal(false);
    }
  });

  it("installs exactly what package-lock.json says, and ships only what production needs", () => {
    const runs = stages.flatMap(({ instructions }) => instructions.filter(({ word }) => word === "RUN"));
    for (const { rest } of runs) expect(rest).not.to.match(/npm (?:i|install)\b/);
    const from = lines("COPY").find(({ args }) => args[0] === "/app/node_modules")?.flags.from;
    const source = stages.find(({ name }) => name === from);
    expect(source?.instructions.map(({ rest }) => rest).join("\n")).to.match(
      /npm ci .*\n.*npm pkg delete devDependencies .* && npm prune/,
    );
    expect(lines("RUN")).to.deep.equal([]);
  });

  it("runs the package's command as an unprivileged user, without a shell that would swallow signals", () => {
    expect(lines("USER").map(({ rest }) => rest)).to.deep.equal(["node"]);
    expect(lines("CMD")).to.have.length(1);
    expect(lines("CMD")[0]?.args).to.deep.equal(["node", manifest.bin.paihao, "start"]);
    expect(lines("ENTRYPOINT")).to.deep.equal([]);
  });

  it("sets only variables that the server reads, to valid values", () => {
    const { NODE_ENV, ...env } = environmentOf(image);
    expect(NODE_ENV).to.equal("production");
    expect(VARIABLES).to.include.keys(Object.keys(env));
    expect(readConfig({ ...env, AUTH: "none" })).to.include({ host: "0.0.0.0", port: 3000 });
  });

  it("does not start without keys, unless ALLOW_ANONYMOUS is set", () => {
    const { NODE_ENV, ...env } = environmentOf(image);
    expect(() => readConfig(env)).to.throw(/^HOST is "0\.0\.0\.0" but there are no API_KEYS/);
    expect(readConfig({ ...env, API_KEYS: `ci:submit:${"0".repeat(64)}` }).apiKeys).to.have.length(1);
  });

  it("checks /healthz, on the port that is set for every role", () => {
    const [check] = lines("HEALTHCHECK");
    expect(check?.args.slice(0, 2)).to.deep.equal(["node", "-e"]);
    expect(check?.args[2]).to.match(/process\.env\.PORT\}\/healthz/);
    expect(check?.flags).to.include.keys("interval", "timeout", "start-period", "retries");
    expect(environmentOf(image)).to.include.keys("PORT");
  });

  it("has a health check that fails if nothing listens", () => {
    const [command = "", ...args] = lines("HEALTHCHECK")[0]?.args ?? [];
    expect(spawnSync(command, args, { env: { ...process.env, PORT: "1" } }).status).to.equal(1);
  });
});

describe("compose.yaml", () => {
  const compose = parse(read("compose.yaml"), { merge: true });
  const { redis, api, worker } = compose.services;

  it("runs a Redis with AOF, a volume and no eviction", () => {
    const options = redis.command.join(" ");
    expect(redis.command[0]).to.equal("redis-server");
    expect(options).to.include("--appendonly yes");
    expect(options).to.include("--appendfsync everysec");
    expect(options).to.include("--maxmemory-policy noeviction");
    // Of any size: without one the system kills it when memory runs out.
    expect(options).to.match(/--maxmemory \$\{REDIS_MAXMEMORY:-\d+gb\}/);
    const [volume, path] = redis.volumes[0].split(":");
    expect(compose.volumes).to.have.property(volume);
    expect(path).to.equal("/data");
    expect(redis.healthcheck.test.join(" ")).to.include("redis-cli ping");
  });

  it("gives no service more than it needs: a read-only root, no capabilities, no new privileges", () => {
    for (const [name, service] of Object.entries<Record<string, unknown>>(compose.services)) {
      expect(service, name).to.deep.include({
        read_only: true,
        tmpfs: ["/tmp"],
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
      });
      // What it logs is bounded.
      expect(service.logging, name).to.have.nested.property("options.max-size");
      expect(service, name).not.to.have.any.keys("cap_add", "privileged", "pid", "network_mode");
    }
    // The others are an ordinary user by their image.
    expect(redis.user).to.equal("redis");
  });

  it("names the version of Redis exactly", () => {
    expect(redis.image).to.match(/^redis:\d+\.\d+\.\d+(?:-[a-z]+)?(?:@sha256:[0-9a-f]{64})?$/);
  });

  it("publishes only the API, and only on this machine", () => {
    expect(redis).not.to.have.property("ports");
    expect(api.ports).to.deep.equal([`127.0.0.1:\${PAIHAO_PORT:-3000}:${api.environment.PORT}`]);
  });

  it("needs no key only because only this machine can reach it; keys restrict it", () => {
    expect(api.environment.AUTH).to.equal("none");
    expect(api.ports).to.satisfy((ports: string[]) => ports.every((port) => port.startsWith("127.0.0.1:")));
    expect(readConfig({ ...api.environment, API_KEYS: `ci:submit:${"0".repeat(64)}` }).apiKeys).to.have.length(1);
  });

  it("serves web pages under no name but localhost, against DNS rebinding; so do the projects of `paihao init`", () => {
    const project = projectFiles({ name: "x", paihao: "*", zod: "*", stripsTypes: true })["compose.yaml"] ?? "";
    for (const file of [compose, parse(project, { merge: true })]) {
      expect(file.services.api.environment.ALLOWED_HOSTS).to.equal("localhost");
      for (const { environment } of [file.services.api, file.services.worker]) {
        expect(new Set(readConfig(environment).servedHosts?.names)).to.deep.equal(
          new Set(["localhost", "127.0.0.1", "[::1]", "0.0.0.0"]),
        );
      }
      for (const service of Object.values(file.services)) {
        expect(service).to.deep.include({ cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
      }
      expect(file.services.redis.user).to.equal("redis");
    }
  });

  it("can scale workers: they have no container name and no host port", () => {
    expect(worker).not.to.have.any.keys("ports", "container_name", "hostname");
  });

  for (const [name, service] of Object.entries({ api, worker })) {
    describe(`for ${name}`, () => {
      it("sets only variables that the server reads, to valid values", () => {
        expect(VARIABLES).to.include.keys(Object.keys(service.environment));
        const config = readConfig(service.environment);
        expect(config).to.include({ role: name, store: "external", port: 3000, host: "0.0.0.0" });
        expect(new URL(config.redisUrl ?? "").hostname).to.equal("redis");
      });

      it("waits for a healthy Redis, restarts by itself and has time to drain", () => {
        expect(service.depends_on.redis.condition).to.equal("service_healthy");
        expect(service.restart).to.equal("unless-stopped");
        expect(parseDuration(service.stop_grace_period)).to.be.above(readConfig({}).drainTimeoutMs);
        expect(service.init).to.equal(true);
      });
    });
  }

  const client = spawnSync("docker", ["compose", "version"]).status === 0;
  // Needs the client with its compose plugin, no engine.
  (client ? it : it.skip)("is what docker compose understands", () => {
    const run = spawnSync("docker", ["compose", "-f", "compose.yaml", "config", "--quiet"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    expect(run.stderr).to.equal("");
    expect(run.status).to.equal(0);
  });
});
