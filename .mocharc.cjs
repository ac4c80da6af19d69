// What mocha runs, and how.
const { existsSync, readdirSync } = require("node:fs");

/** Tests that take long and that few changes break, by the beginnings of their paths: `npm test` leaves them out. */
const LONG = [
  "test/world/chaos/",
  "test/world/simulation/",
  "test/world/totals/",
  "test/world/turns/",
  "test/engine/tasks/durability",
  "test/http/submit/batch-store",
  "test/cluster/",
  "test/deploy/",
  "test/examples/",
  "test/docs/",
  "test/cli/help",
  "test/cli/demo",
  "test/cli/dev",
  "test/cli/fleet",
  "test/cli/gateway",
  "test/cli/init",
  "test/cli/hostile",
  "test/cli/terminal",
  "test/cli/doctor",
  "test/cli/keys",
  "test/cli/live-store",
  "test/cli/queues",
  "test/cli/start-time",
  "test/cli/shutdown",
  "test/cli/tasks",
  "test/cli/turn",
  "test/client/browser",
  "test/client/hostile",
  "test/client/networks",
  "test/clients/",
  "test/extras/telemetry/traces",
  "test/testing/test-server",
  "test/linear",
  "test/handler/load",
  "test/extras/pages/",
  "test/http/fuzz",
  "test/http/server/unread-results",
  "test/http/server/small-chunks",
  "test/http/task/large-results",
  "test/http/queues/orphans",
  "test/extras/groups/many",
  "test/extras/gateway/circuit-breaker",
  "test/extras/gateway/door/faults",
  "test/extras/gateway/door/processes",
  "test/extras/gateway/once",
  "test/http/live/events-many",
  "test/workers/sandbox/",
  "test/workers/processes",
  "test/workers/idle",
  "test/workers/outage",
  "test/workers/frozen-store",
  "test/workers/exclusive",
  "test/workers/large-inputs",
  "test/engine/model/model",
  "test/store/servers/",
];

const missing = process.argv.slice(2).find((arg) => /^test\/[^*]*$/.test(arg) && !existsSync(arg));
if (missing !== undefined) throw new Error(`there is no ${missing}`);
/** Mocha adds the paths of this file to those of the command line, so there are none where a run names its own. */
const hasPaths = process.argv.slice(2).some((arg) => existsSync(arg));
const runsAll = hasPaths || process.env.TEST_ALL === "1";

/** The longest tests begin first: at the end they would run alone. */
const FIRST = "world";
const others = readdirSync("test").filter((name) => name !== FIRST && !name.endsWith(".json"));

module.exports = {
  "node-option": ["import=tsx"],
  require: ["test/helpers/global-fixtures.ts"],
  reporter: "scripts/mocha-reporter.ts",
  extension: ["test.ts"],
  recursive: true,
  spec: hasPaths ? [] : [FIRST, ...others].map((name) => `test/${name}`),
  ignore: runsAll ? [] : LONG.map((path) => (path.endsWith("/") ? `${path}**` : `${path}*`)),
  timeout: 60_000,
  "forbid-only": true,
  "fail-zero": true,
  parallel: true,
  // As many as two cores can run without tests timing out; each has a store of its own: test/helpers/global-fixtures.ts.
  jobs: 3,
};
