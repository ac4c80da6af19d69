import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { projectFiles } from "../../src/cli/init/project.ts";
import { readConfig } from "../../src/config/config.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { ROOT } from "../shared/root.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents whose shape the schema checks
type Document = any;

const read = (file: string): Document => parse(readFileSync(path.join(ROOT, file), "utf8"), { merge: true });
const base = read("compose.yaml");
const [CLUSTER, SENTINEL] = ["deploy/compose/cluster.yaml", "deploy/compose/sentinel.yaml"] as const;

/** What Compose makes of a service in two files: maps are merged, so that the settings of the second one win. */
function merged(service: string, extension: Document): Document {
  const [first, second] = [base.services[service] ?? {}, extension.services[service] ?? {}];
  return {
    ...first,
    ...second,
    environment: { ...first.environment, ...second.environment },
    depends_on: { ...first.depends_on, ...second.depends_on },
  };
}

describe("the compose files", () => {
  for (const file of ["compose.yaml", CLUSTER, SENTINEL]) {
    describe(file, () => {
      const extension = read(file);
      const services: [string, Document][] = Object.keys({ ...base.services, ...extension.services }).map((name) => [
        name,
        merged(name, extension),
      ]);

      it("sets only variables that the server reads, to valid values", () => {
        for (const role of ["api", "worker"]) {
          const { environment } = merged(role, extension);
          expect(VARIABLES).to.include.keys(Object.keys(environment));
          expect(readConfig(environment)).to.include({ role, store: "external", port: 3000, host: "0.0.0.0" });
        }
      });

      it("names only services, volumes and files that exist", () => {
        const names = services.map(([name]) => name);
        const volumes = Object.keys({ ...base.volumes, ...extension.volumes });
        for (const [name, service] of services) {
          expect(names, name).to.include.members(Object.keys(service.depends_on));
          for (const volume of service.volumes ?? []) {
            const [source = ""] = volume.split(":");
            if (source.startsWith("./")) expect(existsSync(path.join(ROOT, source)), source).to.equal(true);
            else expect(volumes, name).to.include(source);
          }
        }
      });

      it("runs exact versions without capabilities, published on this machine only", () => {
        for (const [name, service] of services) {
          expect(service.cap_drop, name).to.deep.equal(["ALL"]);
          expect(service.security_opt, name).to.deep.equal(["no-new-privileges:true"]);
          expect(service.logging, name).to.have.nested.property("options.max-size");
          expect(service, name).not.to.have.any.keys("cap_add", "privileged", "pid", "network_mode");
          if (service.build === undefined) expect(service.image, name).to.match(/:v?\d+\.\d+\.\d+$/);
          for (const port of service.ports ?? []) expect(port, name).to.match(/^127\.0\.0\.1:/);
        }
      });

      const client = spawnSync("docker", ["compose", "version"]).status === 0;
      // Needs the client with its compose plugin, no engine.
      (client ? it : it.skip)("is what docker compose understands", () => {
        const files = new Set(["compose.yaml", file]);
        const args = ["compose", ...[...files].flatMap((one) => ["-f", one]), "config", "--quiet"];
        const { status, stderr } = spawnSync("docker", args, { cwd: ROOT, encoding: "utf8" });
        expect({ status, stderr }).to.deep.equal({ status: 0, stderr: "" });
      });
    });
  }

  it("run a Redis with AOF, a volume and no eviction, which nobody else can reach", () => {
    const { redis } = base.services;
    const options = redis.command.join(" ");
    // Of any size: without one the system kills it when memory runs out.
    expect(options).to.match(/--maxmemory \$\{REDIS_MAXMEMORY:-\d+gb\}/);
    for (const option of ["--appendonly yes", "--appendfsync everysec", "--maxmemory-policy noeviction"])
      expect(options).to.include(option);
    expect(redis.volumes[0]).to.match(/:\/data$/);
    expect(redis.healthcheck.test.join(" ")).to.include("redis-cli ping");
    expect(redis).to.include({ user: "redis" }).and.not.have.property("ports");
  });

  it("have a read-only root; workers can be scaled, and have the time to drain", () => {
    for (const [name, service] of Object.entries<Document>(base.services)) {
      expect(service, name).to.deep.include({ read_only: true, tmpfs: ["/tmp"] });
      if (name === "redis") continue;
      expect(service.depends_on.redis.condition).to.equal("service_healthy");
      expect(service).to.include({ restart: "unless-stopped", init: true });
      expect(parseDuration(service.stop_grace_period)).to.be.above(readConfig({}).drainTimeoutMs);
    }
    expect(base.services.worker).not.to.have.any.keys("ports", "container_name", "hostname");
  });

  it("need no key only because only this machine can reach the API; keys restrict it", () => {
    const { environment, ports } = base.services.api;
    expect(environment.AUTH).to.equal("none");
    expect(ports).to.deep.equal([`127.0.0.1:\${PAIHAO_PORT:-3000}:${environment.PORT}`]);
    expect(readConfig({ ...environment, API_KEYS: `ci:submit:${"0".repeat(64)}` }).apiKeys).to.have.length(1);
  });

  it("serve web pages under no name but localhost, against DNS rebinding; so do the projects of `paihao init`", () => {
    const project = projectFiles({ name: "x", paihao: "*", zod: "*", stripsTypes: true })["compose.yaml"] ?? "";
    for (const { services } of [base, parse(project, { merge: true })]) {
      for (const { environment } of [services.api, services.worker]) {
        const names = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
        expect(new Set(readConfig(environment).servedHosts?.names)).to.deep.equal(new Set(names));
      }
      for (const service of Object.values(services)) {
        expect(service).to.deep.include({ cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
      }
    }
  });
});
