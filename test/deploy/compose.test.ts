import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { readConfig } from "../../src/config/config.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { ROOT } from "../shared/root.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents whose shape the schema checks
type Document = any;

const read = (file: string): Document => parse(readFileSync(path.join(ROOT, file), "utf8"), { merge: true });
const base = read("compose.yaml");
const EXTENSIONS = ["cluster", "sentinel"].map((name) => `deploy/compose/${name}.yaml`);

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
  for (const file of EXTENSIONS) {
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
          expect(readConfig(environment)).to.include({ role, store: "external", port: 3000 });
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
          if (service.build === undefined) expect(service.image, name).to.match(/:v?\d+\.\d+\.\d+$/);
          for (const port of service.ports ?? []) expect(port, name).to.match(/^127\.0\.0\.1:/);
        }
      });
    });
  }

  it("have sentinels that watch the primary, and replicas that follow it, at its fixed address", () => {
    const { services } = read("deploy/compose/sentinel.yaml");
    const address = services.redis.networks.default.ipv4_address;
    for (const n of [1, 2, 3]) {
      expect(services[`sentinel-${n}`].command.join(" ")).to.include(`sentinel monitor mymaster ${address} 6379 2`);
    }
    for (const n of [1, 2]) {
      const command = services[`redis-replica-${n}`].command.join(" ");
      expect(command).to.include(`'replicaof ${address} 6379'`);
    }
    const { environment } = merged("api", read("deploy/compose/sentinel.yaml"));
    expect(environment.REDIS_URL).to.equal(
      "redis+sentinel://sentinel-1:26379,sentinel-2:26379,sentinel-3:26379/mymaster",
    );
  });

  it("make a cluster of all nodes, which have fixed addresses", () => {
    const { services } = read("deploy/compose/cluster.yaml");
    const nodes = Object.keys(services).filter((name) => services[name].networks !== undefined);
    expect(nodes).to.have.length(6);
    const script = services["redis-cluster"].command.join(" ");
    for (const name of nodes) {
      expect(script).to.include(`${services[name].networks.default.ipv4_address}:6379`);
      expect(services["redis-cluster"].depends_on).to.have.property(name);
      expect(services[name].command).to.deep.equal(services.redis.command);
    }
    const { environment } = merged("api", read("deploy/compose/cluster.yaml"));
    for (const [, host = ""] of environment.REDIS_URL.matchAll(/([\w-]+):6379/g)) expect(nodes).to.include(host);
  });
});
