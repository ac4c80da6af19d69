/**
 * `npm run mutants -- [--only lua/lease.lua] [--survivors | --new] [--at-a-time N]`, `npm run mutants -- --sample [--write]`, or `npm run
 * mutants -- ts [--only src/net] [--share 0.2]`: changes the product in one place after the other, and tries whether a test fails. See
 * README.md.
 */
import { parseArgs } from "node:util";
import { build } from "../../scripts/build.ts";
import { ROOT } from "../shared/root.ts";
import { runLua } from "./lua/run.ts";
import { drawSample, holdsSample } from "./lua/sample.ts";
import { runTypeScript } from "./typescript/run.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    share: { type: "string", default: "1" },
    survivors: { type: "boolean", default: false },
    new: { type: "boolean", default: false },
    "at-a-time": { type: "string", default: "1" },
    sample: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

// Handlers in tests import the package by its name.
if (!values.write) build(ROOT);
if (positionals[0] === "ts") process.exitCode = await runTypeScript({ only: values.only, share: Number(values.share) });
else if (values.write) drawSample();
else if (values.sample) await judgeSample();
else {
  const which = values.survivors ? "survivors" : values.new ? "new" : "all";
  await runLua({ only: values.only, which, atATime: Number(values["at-a-time"]) });
}

async function judgeSample(): Promise<void> {
  const isAsGood = await holdsSample();
  if (!isAsGood) console.log("✘ more mutants of the sample survive than before");
  console.log(isAsGood ? "1 passed, 0 failed, 0 skipped" : "0 passed, 1 failed, 0 skipped");
  process.exitCode = isAsGood ? 0 : 1;
}
