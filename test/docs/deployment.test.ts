import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { projectFiles } from "../../src/cli/init/project.ts";
import { readConfig } from "../../src/config/config.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { ROOT } from "../shared/root.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

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
