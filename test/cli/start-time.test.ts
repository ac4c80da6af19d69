import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { builtCommand } from "../helpers/build.ts";

/** Writes the URL of every module that is loaded, a line each. */
const HOOKS = `
import { writeSync } from "node:fs";
export async function load(url, context, next) {
  writeSync(2, "loaded " + url + "\\n");
  return next(url, context);
}`;
const REGISTER = `import { register } from "node:module"; register("data:text/javascript,${encodeURIComponent(HOOKS)}");`;

/** What a command loads: files of the project, and names of packages. */
function loadedBy(args: readonly string[]): string[] {
  const preload = ["--import", `data:text/javascript,${encodeURIComponent(REGISTER)}`];
  const run = spawnSync(process.execPath, [...preload, ...builtCommand(), ...args], {
    env: { PATH: process.env.PATH ?? "" },
    encoding: "utf8",
    timeout: 60_000,
  });
  const urls = [...run.stderr.matchAll(/^loaded (\S+)$/gm)].map(([, url = ""]) => url);
  return urls.map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? url.replace(/^.*\/dist\//, "dist/"));
}

/** Those that draw the terminal. */
const PACKAGES = ["commander", "string-width", "get-east-asian-width", "strip-ansi", "ansi-regex"];

describe("a command that talks to a server", () => {
  for (const args of [
    ["status", "--help"],
    ["queues", "--url", "http://127.0.0.1:1"],
    ["submit", "default", "1", "--url", "http://127.0.0.1:1"],
    ["turn", "gpu", "--url", "http://127.0.0.1:1", "--", "true"],
  ]) {
    it(`loads no part of the server: ${args.join(" ")}`, () => {
      const loaded = loadedBy(args);
      expect(loaded).to.include("dist/cli/commands/status.js").and.include("commander");
      const others = loaded.filter((name) => !/^(node:|data:|dist\/|file:)/.test(name));
      expect([...new Set(others)].sort(), "packages").to.deep.equal([...PACKAGES].sort());
      const rooms = new Set(loaded.flatMap((name) => /^dist\/([\w-]+)\//.exec(name)?.[1] ?? []));
      expect([...rooms].sort(), "folders of dist").to.deep.equal(["auth", "cli", "client", "config", "words"]);
    });
  }
});
