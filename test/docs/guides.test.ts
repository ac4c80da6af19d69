import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { MINIMUM_REDIS } from "../../src/store/servers/check-server.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { ROOT } from "../shared/root.ts";
import { commandsIn } from "../shared/shown-commands.ts";
import { type GuideEnv, readGuide, runGuide } from "./guide.ts";

/** The guides whose code and commands are run, with what their servers need. */
const GUIDES: Readonly<Record<string, GuideEnv>> = {
  "calling.md": () => ({}),
  "deploy.md": () => ({}),
  "comparison.md": () => ({}),
  "handlers.md": () => ({}),
  "operations.md": withOwnQueue,
  "runbook.md": withOwnQueue,
  "security.md": withKeys,
  "troubles.md": () => ({}),
};

/** A server with the queue that stands for the reader's. */
function withOwnQueue(folder: string): Readonly<Record<string, string>> {
  const handlers = join(folder, "handlers");
  mkdirSync(handlers);
  const code = readFileSync(join(ROOT, "src/handlers/default.ts"), "utf8");
  writeFileSync(join(handlers, "resize.ts"), code.replace('queue: "default"', 'queue: "resize"'));
  return { HANDLERS: handlers };
}

/** A server with one key, in the file to which the guide adds others. */
function withKeys(folder: string): Readonly<Record<string, string>> {
  const file = join(folder, "keys");
  writeFileSync(file, `${testKeys({ ops: ["admin"] }).lines[0]}\n`);
  return { API_KEYS_FILE: file };
}

describe("the guides", function () {
  this.timeout(120_000);

  it("name the oldest Redis that the server accepts", () => {
    expect(readGuide("deploy.md")).to.include(`Redis ${MINIMUM_REDIS} or later`);
  });

  for (const [guide, env] of Object.entries(GUIDES)) {
    it(`of docs/${guide} do what they say`, async () => {
      expect(commandsIn(readGuide(guide)).length + readGuide(guide).split("```ts\n").length).to.be.above(1);
      await runGuide(guide, env);
    });
  }
});
