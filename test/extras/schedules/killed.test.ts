import path from "node:path";
import { expect } from "chai";
import { taskIdOf } from "../../../src/extras/schedules/definition.ts";
import { exchange } from "../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeys } from "../../helpers/store/scan.ts";
import { eventually } from "../../shared/eventually.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/clock");

describe("a process that is killed between a due time and its submission", () => {
  const KEY_PREFIX = uniquePrefix();
  const started: ServerProcess[] = [];
  after(async () => {
    await endProcesses(started);
    await removeKeys(storeUrl(), KEY_PREFIX);
  });

  it("leaves the due time to the next one, which submits each once", async function () {
    this.timeout(120_000);
    const env = { HANDLERS, KEY_PREFIX, PORT: "0", EVERY: "1s" };
    const first = await startProcess({ ...env, HANG: "1" });
    started.push(first);
    await eventually(() => first.logged.includes("about to submit"));
    first.child.kill("SIGKILL");
    await first.ended;

    const second = await startProcess(env);
    started.push(second);
    const ask = async (at: string) => (await exchange(new URL(at, second.url))).json;
    const { last } = await eventually(async () => {
      const schedule = await ask("/v1/schedules/reports.often");
      return schedule.last !== null && schedule;
    });
    // Every second since it was declared has its task, from the one whose process was killed on.
    const ids = (await ask("/v1/queues/reports/waiting?limit=200")).items.map(({ id }: { id: string }) => id);
    const [, since = ""] = String(ids[0]).split("~");
    const firstMs = Date.parse(since.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    expect(firstMs).to.be.at.most(Date.parse(last.at));
    const { actions } = await ask(`/v1/requests/${ids[0]}/status`);
    expect(actions).to.include("cancel").and.not.include("replace");
    expect(ids).to.deep.equal(ids.map((_: string, n: number) => taskIdOf("reports.often", firstMs + n * 1000)));
  });
});
