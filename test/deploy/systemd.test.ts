import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { readConfig } from "../../src/config/config.ts";
import { parseDuration } from "../../src/config/duration.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { programOnPath } from "../shared/programs.ts";
import { ROOT } from "../shared/root.ts";

const FOLDER = path.join(ROOT, "deploy/systemd");
const UNITS = readdirSync(FOLDER).filter((name) => name.endsWith(".service"));
/** Of 100: what systemd itself calls OK. */
const MAX_EXPOSED = 20;

const analyze = programOnPath("systemd-analyze");
const withSystemd = analyze === undefined ? it.skip : it;
const runAnalyze = (...args: string[]) => spawnSync(analyze ?? "", args, { cwd: FOLDER, encoding: "utf8" });

/** The last value of each setting of a unit. */
function settingsOf(unit: string): ReadonlyMap<string, string> {
  const lines = readFileSync(path.join(FOLDER, unit), "utf8").matchAll(/^(\w+)=(.*)$/gm);
  return new Map([...lines].map(([, name = "", value = ""]) => [name, value]));
}

const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]));

describe("deploy/systemd", () => {
  const file = readFileSync(path.join(FOLDER, "paihao.env"), "utf8").replaceAll(/^#.*$/gm, "");

  for (const unit of UNITS) {
    describe(unit, () => {
      const settings = settingsOf(unit);

      withSystemd("is a unit that systemd accepts", () => {
        const { status, stderr } = runAnalyze("verify", `./${unit}`);
        // It also names units of the machine that it finds at fault.
        expect(stderr).not.to.include(unit.replace("@", "@i"));
        expect(status, stderr).to.equal(0);
      });

      withSystemd("is exposed no more than systemd calls OK", () => {
        const args = ["security", "--offline=true", "--no-pager", `--threshold=${MAX_EXPOSED}`, `./${unit}`];
        const { status, stdout } = runAnalyze(...args);
        expect(status, stdout.split("\n").slice(-3).join("\n")).to.equal(0);
      });

      it("sets only variables that the server reads, to valid values", () => {
        const { NODE_ENV, ...env } = { ...variablesOf(settings.get("Environment") ?? ""), ...variablesOf(file) };
        expect(NODE_ENV).to.equal("production");
        expect(VARIABLES).to.include.keys(Object.keys(env));
        expect(readConfig(env).role).to.equal(unit.includes("api") ? "api" : "worker");
      });

      it("has the time to drain, and starts again when it ends", () => {
        const spareMs = (parseDuration(settings.get("TimeoutStopSec") ?? "") ?? 0) - readConfig({}).drainTimeoutMs;
        expect(spareMs).to.be.at.least(15_000);
        expect(settings.get("Restart")).to.equal("always");
        expect(settings.get("KillSignal")).to.equal("SIGTERM");
      });

      it("runs as a user of its own, which may write nowhere", () => {
        expect(settings.get("User")).to.equal("paihao");
        expect(settings.get("ProtectSystem")).to.equal("strict");
        expect(settings.get("NoNewPrivileges")).to.equal("yes");
      });
    });
  }
});
