import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const text = readFileSync(join(ROOT, "docs/recurring.md"), "utf8");
const blocks = (language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, code = ""]) => code);
const [submit = "", lastDays = ""] = blocks("sh");
const [manifest = ""] = blocks("yaml");

describe("docs/recurring.md", () => {
  const keys = testKeys({ cron: ["submit"], other: ["submit"], watch: ["read"] });
  let dir: string;
  let server: TestServer;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "paihao-recurring-"));
    await writeFile(join(dir, "reports.ts"), blocks("ts")[0] ?? "");
  });
  beforeEach(async () => {
    server = await startServer({ HANDLERS: dir, ...keys.env });
  });
  afterEach(() => server.stop());
  after(() => rm(dir, { recursive: true }));

  /** Runs a script as cron or a container would; returns what it printed. */
  const run = async (script: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const key = keys.as("cron").Authorization?.replace("Bearer ", "") ?? "";
    const child = spawn("sh", ["-c", script], {
      env: { ...process.env, PAIHAO: server.url, PAIHAO_KEY: key, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
    const [code] = await once(child, "close");
    expect(code, output).to.equal(0);
    return output;
  };
  const queue = async () => (await server.send("/v1/queues/reports", { headers: keys.as("watch") })).json;
  /** How many reports have been made, once nothing is left to do. */
  const made = () =>
    eventually(async () => {
      const { waiting, running, serviceTime } = await queue();
      return waiting === 0 && running === 0 && (serviceTime.samples as number);
    });
  /** How many days it has been since: 1, or 2 if a test runs at midnight. */
  const daysSince = (began: number) => 1 + Math.floor(Date.now() / 86_400_000) - Math.floor(began / 86_400_000);

  it("has a script that makes one report a day, whoever runs it, and however often", async () => {
    const began = Date.now();
    const first = await run(submit);
    const day = /report-(\d{4}-\d\d-\d\d)/.exec(first)?.[1];
    expect(new Date(began).toISOString().slice(0, 10)).to.equal(day);
    expect(await made()).to.equal(1);
    expect(JSON.parse(await run(submit)))
      .to.have.property("title")
      .that.matches(/^Report of /);
    const zones = ["Pacific/Auckland", "America/Los_Angeles", "Europe/Berlin", "UTC"];
    await Promise.all(zones.map((TZ) => run(submit, { TZ })));
    expect(await made()).to.be.within(1, daysSince(began));
  });

  it("makes up for missed days without repeating those that are done", async () => {
    const began = Date.now();
    await run(submit);
    await made();
    await Promise.all([run(lastDays), run(lastDays)]);
    expect(await made()).to.be.within(3, 2 + daysSince(began));
    await run(lastDays);
    expect(await made()).to.be.within(3, 2 + daysSince(began));
  });

  it("has a CronJob with the same script, whose firings are one task", async () => {
    const { kind, spec } = parse(manifest);
    expect(kind).to.equal("CronJob");
    expect(spec).to.include({ timeZone: "Etc/UTC", concurrencyPolicy: "Forbid" });
    const [container] = spec.jobTemplate.spec.template.spec.containers;
    expect(container.command).to.deep.equal(["sh", "-c"]);
    expect(container.args).to.deep.equal([submit]);
    expect(container.env.map(({ name }: { name: string }) => name)).to.deep.equal(["PAIHAO", "PAIHAO_KEY"]);
    const began = Date.now();
    await run(container.args[0]);
    await run(container.args[0]);
    expect(await made()).to.be.within(1, daysSince(began));
  });

  it("states what becomes of the same id with another input or another key", async () => {
    const path = "/v1/queues/reports/requests/report-2026-11-22";
    const put = (day: string, as = keys.as("cron", { Prefer: "respond-async" })) =>
      server.send(path, { method: "PUT", headers: as, body: { day } });
    expect((await put("2026-11-22")).status).to.equal(202);
    await made();
    const again = await put("2026-11-22");
    expect([again.status, again.headers["idempotent-replayed"]]).to.deep.equal([200, "true"]);
    for (const refused of [await put("2026-11-23"), await put("2026-11-22", keys.as("other"))])
      expect(refused.json).to.include({ status: 409, type: "/problems/id-conflict" });
  });
});
