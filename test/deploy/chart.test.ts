import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { VARIABLES } from "../../src/config/variables.ts";
import { deployTool } from "../shared/deploy-tools.ts";
import { rendered } from "../shared/manifests.ts";
import { ROOT } from "../shared/root.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of many shapes, which test/deploy/kubernetes.test.ts checks
type Document = any;

const helm = deployTool("helm");
const set = (...values: readonly string[]) => values.flatMap((value) => ["--set", value]);
const documents = (text: string): Document[] => parseAllDocuments(text).map((one) => one.toJS());
const made = (...values: readonly string[]) => documents(rendered(...set(...values)));
const podOf = (all: readonly Document[], role: string): Document =>
  all.find(({ metadata, spec }) => metadata.name === `paihao-${role}` && spec.template).spec.template;
/** What would start new pods, by role. */
const checksums = (all: readonly Document[]) =>
  ["api", "worker", "redis"].map((role) => podOf(all, role).metadata.annotations ?? {});

(helm ? describe : describe.skip)("the values of the chart", function () {
  this.timeout(60_000);

  it("are refused if a name or a value is unknown", () => {
    for (const [value, complaint] of [
      ["replicas=3", "replicas"],
      ["worker.replica=3", "replica"],
      ["config.LOG_LEVLE=debug", "LOG_LEVLE"],
      ["config.ROLE=all", "ROLE"],
      ["config.PORT=0", "PORT"],
      ["config.HOST=127.0.0.1", "HOST"],
      ["config.DRAIN_TIMEOUT=20 seconds", "DRAIN_TIMEOUT"],
      ["worker.resources.limit.memory=1Gi", "limit"],
    ] as const) {
      expect(() => rendered(...set(value)), value).to.throw(complaint);
    }
  });

  it("may have every setting of the server but those of the chart itself", () => {
    const schema = JSON.parse(readFileSync(path.join(ROOT, "deploy/helm/paihao/values.schema.json"), "utf8"));
    const known = Object.keys(VARIABLES).filter((name) => name !== "ROLE" && name !== "STORE");
    expect(Object.keys(schema.definitions.settings.properties)).to.have.members(known);
  });

  it("make the port, the time to stop and the slots follow the settings", () => {
    const all = made(
      ...[
        "config.PORT=8080",
        "worker.config.PORT=9090",
        "config.DRAIN_TIMEOUT=1.5m",
        "worker.config.DRAIN_TIMEOUT=1500",
      ],
      ...["worker.config.CONCURRENCY=3", "keda.enabled=true"],
    );
    for (const [role, port, graceS] of [
      ["api", 8080, 110],
      ["worker", 9090, 22],
    ] as const) {
      const { spec } = podOf(all, role);
      const [container] = spec.containers;
      expect(container.ports).to.deep.equal([{ name: "http", containerPort: port }]);
      expect(container.env.filter(({ name }: Document) => name === "PORT")).to.deep.equal([
        { name: "PORT", value: String(port) },
      ]);
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
        expect(container[probe].httpGet.port).to.equal("http");
      }
      expect(spec.terminationGracePeriodSeconds, role).to.equal(graceS);
    }
    const service = all.find(({ kind, metadata }) => kind === "Service" && metadata.name === "paihao");
    expect(service.spec.ports[0].targetPort).to.equal("http");
    const [trigger] = all.find(({ kind }) => kind === "ScaledObject").spec.triggers;
    expect(trigger.metadata.threshold).to.equal("3");
    const given = made("terminationGracePeriodSeconds=600");
    expect(podOf(given, "worker").spec.terminationGracePeriodSeconds).to.equal(600);
  });

  it("add variables and volumes to every process", () => {
    const all = made(
      ...["extraEnv[0].name=NODE_EXTRA_CA_CERTS", "extraEnv[0].value=/ca/ca.pem"],
      ...["extraVolumes[0].name=ca", "extraVolumes[0].secret.secretName=ca"],
      ...["extraVolumeMounts[0].name=ca", "extraVolumeMounts[0].mountPath=/ca"],
    );
    for (const role of ["api", "worker"]) {
      const { containers, volumes } = podOf(all, role).spec;
      expect(containers[0].env).to.deep.include({ name: "NODE_EXTRA_CA_CERTS", value: "/ca/ca.pem" });
      expect(containers[0].volumeMounts).to.deep.include({ name: "ca", mountPath: "/ca" });
      expect(volumes).to.deep.include({ name: "ca", secret: { secretName: "ca" } });
    }
  });

  it("replace the pods when the chart's Secret or handlers change", () => {
    const before = ["secret.REDIS_PASSWORD=a", "secret.API_KEYS=x", "handlers.files.a\\.ts=one"];
    const [api, worker, redis] = checksums(made(...before));
    expect(worker).to.include.keys("checksum/secret", "checksum/handlers");

    const otherKeys = checksums(made(...before, "secret.API_KEYS=y"));
    for (const [n, old] of [api, worker].entries()) {
      expect(otherKeys[n]["checksum/secret"]).not.to.equal(old["checksum/secret"]);
      expect(otherKeys[n]["checksum/handlers"]).to.equal(old["checksum/handlers"]);
    }
    expect(otherKeys[2], "Redis, which has no keys").to.deep.equal(redis);
    expect(checksums(made(...before, "secret.REDIS_PASSWORD=b"))[2]).not.to.deep.equal(redis);
    expect(checksums(made(...before, "handlers.files.a\\.ts=two"))[1]).not.to.deep.equal(worker);

    const all = made(...before);
    const { containers, volumes } = podOf(all, "worker").spec;
    expect(all.find(({ kind }) => kind === "Secret").metadata.name).to.equal(containers[0].envFrom[1].secretRef.name);
    const { name } = volumes.find((volume: Document) => volume.name === "handlers").configMap;
    expect(all.find(({ metadata }) => metadata.name === name).data).to.deep.equal({ "a.ts": "one" });
  });

  it("replace the pods when a Secret or handlers in the cluster change", async () => {
    const cluster = await startCluster();
    const render = async () => {
      const { stdout } = await promisify(execFile)(helm ?? "", [
        ...["template", "paihao", path.join(ROOT, "deploy/helm/paihao"), "--dry-run=server"],
        ...["--disable-openapi-validation", "--kube-apiserver", cluster.url],
        ...set("handlers.existingConfigMap=mine"),
      ]);
      return checksums(documents(stdout));
    };
    try {
      const [, worker, redis] = await render();
      expect(worker).to.include.keys("checksum/secret", "checksum/handlers");
      cluster.secret.API_KEYS = "eQ==";
      const [, withKeys, sameRedis] = await render();
      expect(withKeys["checksum/secret"]).not.to.equal(worker["checksum/secret"]);
      expect(withKeys["checksum/handlers"]).to.equal(worker["checksum/handlers"]);
      expect(sameRedis).to.deep.equal(redis);
      cluster.handlers["a.ts"] = "2";
      expect((await render())[1]["checksum/handlers"]).not.to.equal(worker["checksum/handlers"]);
    } finally {
      await cluster.stop();
    }
  });
});

/** As much of a Kubernetes API as helm asks for when it renders a chart: the kinds of the chart, a Secret, and a ConfigMap. */
async function startCluster() {
  const secret: Record<string, string> = { REDIS_PASSWORD: "eA==" };
  const handlers: Record<string, string> = { "a.ts": "1" };
  const kinds: Readonly<Record<string, readonly string[]>> = {
    v1: ["Secret", "ConfigMap", "Service"],
    "apps/v1": ["Deployment", "StatefulSet"],
    "policy/v1": ["PodDisruptionBudget"],
    "networking.k8s.io/v1": ["NetworkPolicy"],
  };
  const groups = Object.keys(kinds).filter((group) => group.includes("/"));
  const paths: Record<string, () => object> = {
    "/version": () => ({ major: "1", minor: "34", gitVersion: "v1.34.0" }),
    "/api": () => ({ kind: "APIVersions", versions: ["v1"] }),
    "/apis": () => ({
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: groups.map((group) => {
        const version = { groupVersion: group, version: "v1" };
        return { name: group.split("/")[0], versions: [version], preferredVersion: version };
      }),
    }),
    "/api/v1/namespaces/default/secrets/paihao": () => ({
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "paihao" }, data: secret },
    }),
    "/api/v1/namespaces/default/configmaps/mine": () => ({
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" }, data: handlers },
    }),
  };
  for (const [group, names] of Object.entries(kinds)) {
    const resources = names.map((kind) => {
      const name = kind.toLowerCase().replace(/y$/, "ie");
      return { name: `${name}s`, singularName: "", namespaced: true, kind, verbs: ["get"] };
    });
    paths[group === "v1" ? "/api/v1" : `/apis/${group}`] = () => ({
      ...{ kind: "APIResourceList", apiVersion: "v1", groupVersion: group, resources },
    });
  }
  const server = createServer((request, response) => {
    const answer = paths[new URL(request.url ?? "/", "http://localhost").pathname]?.();
    response.writeHead(answer ? 200 : 404, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer ?? { kind: "Status", status: "Failure", reason: "NotFound", code: 404 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secret,
    handlers,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
