import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse, parseAllDocuments } from "yaml";
import { readConfig } from "../../src/config/config.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { DEPLOY_TOOLS, deployPackage, deployTool } from "../shared/deploy-tools.ts";
import { manifests, rendered } from "../shared/manifests.ts";
import { ROOT } from "../shared/root.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents of many shapes, which the schemas check
type Document = any;

const FOLDER = path.join(ROOT, "deploy/kubernetes");
const read = (file: string) => readFileSync(path.join(FOLDER, file), "utf8");
const documents = (text: string): Document[] =>
  parseAllDocuments(text)
    .map((one) => one.toJS())
    .filter(Boolean);
const kindOf = (all: readonly Document[], kind: string, name: string): Document => {
  const found = all.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};

/** Everything that the chart can make. */
const ALL_VALUES = [
  ...[
    "keda.enabled=true",
    "podMonitor.enabled=true",
    "podMonitor.keySecret=metrics",
    "handlers.files.hello\\.ts=export {}",
    "secret.API_KEYS=x",
  ],
  ...[
    "extraEnv[0].name=OTEL_SERVICE_NAME",
    "extraEnv[0].value=paihao",
    "extraVolumes[0].name=ca",
    "extraVolumes[0].secret.secretName=ca",
    "extraVolumeMounts[0].name=ca",
    "extraVolumeMounts[0].mountPath=/ca",
  ],
  ...[
    "api.ingress.enabled=true",
    "api.ingress.className=nginx",
    "api.ingress.tlsSecret=tls",
    "image.pullSecrets[0].name=pull",
  ],
  ...["api.config.WEB_CONCURRENCY=2", "worker.config.CONCURRENCY=16", "worker.nodeSelector.kind=big"],
].flatMap((value) => ["--set", value]);

/** The module and type of each kind in the packages of schemas. */
const TYPES: Readonly<Record<string, readonly [module: string, type: string]>> = {
  ConfigMap: ["kubernetes-models/v1", "IConfigMap"],
  CronJob: ["kubernetes-models/batch/v1", "ICronJob"],
  Deployment: ["kubernetes-models/apps/v1", "IDeployment"],
  Ingress: ["kubernetes-models/networking.k8s.io/v1", "IIngress"],
  NetworkPolicy: ["kubernetes-models/networking.k8s.io/v1", "INetworkPolicy"],
  PodDisruptionBudget: ["kubernetes-models/policy/v1", "IPodDisruptionBudget"],
  ScaledObject: ["@kubernetes-models/keda/keda.sh/v1alpha1", "IScaledObject"],
  Secret: ["kubernetes-models/v1", "ISecret"],
  Service: ["kubernetes-models/v1", "IService"],
  StatefulSet: ["kubernetes-models/apps/v1", "IStatefulSet"],
};

/** What is wrong with documents by the types of their kinds, which know no other members: one run of the compiler for all. */
function faultsOf(all: readonly Document[]): string {
  // Beside the packages, so that they are found.
  const folder = mkdtempSync(path.join(DEPLOY_TOOLS, "check-"));
  try {
    const lines = all.flatMap((document, n) => {
      const [module, type] = TYPES[document.kind] ?? [];
      if (module === undefined) return [];
      return [
        `import type { ${type} as T${n} } from "${module}";`,
        `export const d${n}: T${n} = ${JSON.stringify(document)};`,
      ];
    });
    writeFileSync(path.join(folder, "documents.ts"), lines.join("\n"));
    const flags = [
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--ignoreConfig",
      "--target",
      "es2022",
      "--module",
      "nodenext",
    ];
    const { stdout } = spawnSync(path.join(ROOT, "node_modules/.bin/tsc"), [...flags, "documents.ts"], {
      cwd: folder,
      encoding: "utf8",
    });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tools = deployTool("helm") !== undefined && deployPackage("kubernetes-models") !== undefined;
const suite = tools ? describe : describe.skip;

suite(`deploy/helm and deploy/kubernetes${tools ? "" : " (npx tsx scripts/deploy-tools.ts fetches helm)"}`, function () {
  this.timeout(60_000);
  let plain: Document[];
  let full: Document[];
  before(() => {
    plain = documents(rendered());
    full = documents(rendered(...ALL_VALUES));
  });

  it("is a chart that helm accepts", () => {
    const chart = path.join(ROOT, "deploy/helm/paihao");
    const { status, stdout } = spawnSync(deployTool("helm") ?? "", ["lint", "--strict", chart], { encoding: "utf8" });
    expect(status, stdout).to.equal(0);
  });

  it("is of the version of the package", () => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
    const chart = parse(readFileSync(path.join(ROOT, "deploy/helm/paihao/Chart.yaml"), "utf8"));
    expect([chart.version, chart.appVersion]).to.deep.equal([version, version]);
  });

  it("has the manifests that npm run deploy:manifests makes", () => {
    for (const [file, text] of Object.entries(manifests())) expect(read(file), file).to.equal(text);
  });

  it("has only what Kubernetes and KEDA know", () => {
    const recipe = /```yaml\n(.*?kind: CronJob.*?)```/s.exec(
      readFileSync(path.join(ROOT, "docs/recurring.md"), "utf8"),
    )?.[1];
    const all = [...plain, ...full, ...documents(read("secret.example.yaml")), ...documents(recipe ?? "")];
    expect(new Set(all.map(({ kind }) => kind))).to.include.keys(...Object.keys(TYPES));
    expect(faultsOf(all)).to.equal("");
    expect(faultsOf([{ ...plain[0], specs: {} }]), "of one with a mistake").to.match(/specs.* does not exist/);
  });

  it("is built by kustomize, with and without KEDA, in any namespace", () => {
    const build = (folder: string) => {
      const { status, stdout, stderr } = spawnSync(deployTool("kubectl") ?? "", ["kustomize", folder], {
        encoding: "utf8",
      });
      expect(status, stderr).to.equal(0);
      return documents(stdout);
    };
    const base = build(FOLDER);
    expect(base.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).to.have.members(
      plain.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    );
    for (const { metadata } of base) expect(metadata).not.to.have.property("namespace");
    const folder = mkdtempSync(path.join(ROOT, ".cache/kustomize-"));
    const overlay = { resources: ["../../deploy/kubernetes"], components: ["../../deploy/kubernetes/keda"] };
    writeFileSync(path.join(folder, "kustomization.yaml"), JSON.stringify(overlay));
    try {
      const scaled = build(folder);
      expect(kindOf(scaled, "Deployment", "paihao-worker").spec).not.to.have.property("replicas");
      expect(kindOf(scaled, "ScaledObject", "paihao-worker").spec.scaleTargetRef.name).to.equal("paihao-worker");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("sets only variables that the server reads, to valid values", () => {
    for (const all of [plain, full]) {
      const { data } = kindOf(all, "ConfigMap", "paihao");
      const { stringData } = documents(read("secret.example.yaml"))[0];
      for (const role of ["api", "worker"]) {
        const { env } = kindOf(all, "Deployment", `paihao-${role}`).spec.template.spec.containers[0];
        const own = Object.fromEntries(env.map(({ name, value }: { name: string; value: string }) => [name, value]));
        const { REDIS_PASSWORD, ...secret } = stringData;
        expect(secret.REDIS_URL).to.include(REDIS_PASSWORD);
        const variables = { HOST: "0.0.0.0", PORT: "3000", ...data, ...secret, ...own };
        expect(VARIABLES).to.include.keys(Object.keys(variables));
        expect(readConfig(variables)).to.include({ role, store: "external", port: 3000 });
      }
    }
  });

  it("gives processes the time to drain, and load balancers the time to notice", () => {
    const { data } = kindOf(plain, "ConfigMap", "paihao");
    for (const role of ["api", "worker"]) {
      const { spec } = kindOf(plain, "Deployment", `paihao-${role}`).spec.template;
      const sleepS = Number(spec.containers[0].lifecycle?.preStop.exec.command[1] ?? 0);
      expect(sleepS > 0, `${role} sleeps before it stops`).to.equal(role === "api");
      const spareMs =
        spec.terminationGracePeriodSeconds * 1000 - sleepS * 1000 - (parseDuration(data.DRAIN_TIMEOUT) ?? 0);
      expect(spareMs).to.be.at.least(15_000);
    }
  });

  it("runs containers without rights, on exact versions, with limits and probes", () => {
    const pods = full
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
    const [redis] = kindOf(plain, "StatefulSet", "paihao-redis").spec.template.spec.containers;
    expect(redis.args.join(" "))
      .to.include("--appendonly yes")
      .and.include("--maxmemory-policy noeviction")
      .and.include("--requirepass");
    expect(kindOf(plain, "NetworkPolicy", "paihao-redis").spec.policyTypes).to.deep.equal(["Ingress"]);
    expect(rendered("--set", "redis.enabled=false")).not.to.include("redis-server");
  });
});
