import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { readConfig } from "../../src/config/config.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { ROOT } from "../shared/root.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of many shapes
type Document = any;

const FOLDER = path.join(ROOT, "deploy/kubernetes");
const documents: Document[] = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".yaml"))
  .flatMap((file) => parseAllDocuments(readFileSync(path.join(FOLDER, file), "utf8")).map((one) => one.toJS()));
const kindOf = (kind: string, name: string): Document => {
  const found = documents.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};

describe("deploy/kubernetes", () => {
  it("sets only variables that the server reads, to valid values", () => {
    const { data } = kindOf("ConfigMap", "paihao");
    const { REDIS_PASSWORD, ...secret } = kindOf("Secret", "paihao").stringData;
    expect(secret.REDIS_URL).to.include(REDIS_PASSWORD);
    for (const role of ["api", "worker"]) {
      const { env } = kindOf("Deployment", `paihao-${role}`).spec.template.spec.containers[0];
      const own = Object.fromEntries(env.map(({ name, value }: { name: string; value: string }) => [name, value]));
      const variables = { HOST: "0.0.0.0", PORT: "3000", ...data, ...secret, ...own };
      expect(VARIABLES).to.include.keys(Object.keys(variables));
      expect(readConfig(variables)).to.include({ role, store: "external", port: 3000 });
    }
  });

  it("gives processes the time to drain, and load balancers the time to notice", () => {
    const { data } = kindOf("ConfigMap", "paihao");
    for (const role of ["api", "worker"]) {
      const { spec } = kindOf("Deployment", `paihao-${role}`).spec.template;
      const sleepS = Number(spec.containers[0].lifecycle?.preStop.exec.command[1] ?? 0);
      expect(sleepS > 0, `${role} sleeps before it stops`).to.equal(role === "api");
      const spareMs =
        spec.terminationGracePeriodSeconds * 1000 - sleepS * 1000 - (parseDuration(data.DRAIN_TIMEOUT) ?? 0);
      expect(spareMs).to.be.at.least(15_000);
    }
  });

  it("runs containers without rights, on exact versions, with limits and probes", () => {
    const pods = documents
      .filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet")
      .map(({ spec }) => spec.template.spec);
    expect(pods).to.have.length(3);
    for (const pod of pods) {
      expect(pod.securityContext).to.deep.include({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      expect(pod.automountServiceAccountToken).to.equal(false);
      for (const container of pod.containers) {
        expect(container.securityContext).to.deep.equal({
          ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
        });
        expect(container.image).to.match(/^[a-z]+:\d+\.\d+\.\d+$/);
        expect(container.resources).to.have.nested.property("limits.memory");
        expect(container).to.include.keys("startupProbe", "livenessProbe", "readinessProbe");
      }
    }
  });

  it("keeps Redis from dropping tasks, and everyone else from Redis", () => {
    const [redis] = kindOf("StatefulSet", "paihao-redis").spec.template.spec.containers;
    expect(redis.args.join(" "))
      .to.include("--appendonly yes")
      .and.include("--maxmemory-policy noeviction")
      .and.include("--requirepass");
    expect(kindOf("NetworkPolicy", "paihao-redis").spec.policyTypes).to.deep.equal(["Ingress"]);
  });

  it("scales the workers that there are, by KEDA", () => {
    const { scaleTargetRef } = kindOf("ScaledObject", "paihao-worker").spec;
    expect(kindOf("Deployment", scaleTargetRef.name).spec.template.spec.containers[0].env).to.deep.include({
      name: "ROLE",
      value: "worker",
    });
  });
});
