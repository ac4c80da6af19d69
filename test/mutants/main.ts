/**
 * `npm run mutants -- [--only lua/lease.lua] [--survivors | --new] [--at-a-time N]`, `npm run mutants -- --sample [--write]`, or `npm run
 * mutants -- ts [options of stryker]`: changes the product in one place after the other, and tries whether a test fails. See README.md.
 */
import { parseArgs } from "node:util";
import { build } from "../../scripts/build.ts";
import { ROOT } from "../shared/root.ts";
import { runLua } from "./lua/run.ts";
import { drawSample, holdsSample } from "./lua/sample.ts";
import { runTypeScript } from "./typescript.ts";

const [, , language, ...others] = process.argv;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      survivors: { type: "boolean", default: false },
      new: { type: "boolean", default: false },
      "at-a-time": { type: "string", default: "1" },
      sample: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  // Handlers in tests import the package by its name.
  if (!values.write) build(ROOT);
  if (!values.sample) {
    const which = values.survivors ? "survivors" : values.new ? "new" : "all";
    await runLua({ only: values.only, which, atATime: Number(values["at-a-time"]) });
    return;
  }
  if (values.write) {
    drawSample();
    return;
  }
  const isAsGood = await holdsSample();
  if (!isAsGood) console.log("✘ more mutants of the sample survive than before");
  console.log(isAsGood ? "1 passed, 0 failed, 0 skipped" : "0 passed, 1 failed, 0 skipped");
  process.exitCode = isAsGood ? 0 : 1;
}

if (language === "ts") process.exitCode = await runTypeScript(others);
else await main();
