import { expect } from "chai";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";

describe("paihao start", function () {
  this.timeout(60_000);
  const open: ServerProcess[] = [];
  afterEach(() => endProcesses(open.splice(0)));
  const start = async (env: Readonly<Record<string, string>> = {}) => {
    const server = await startProcess({ PORT: "0", KEY_PREFIX: uniquePrefix(), ...env });
    open.push(server);
    return server;
  };

  it("says in its log which variable has a name that is probably misspelt", async () => {
    const { logged } = await start({ RESULT_TLL: "1h" });
    const warning = await eventually(() => logged.find((line) => line.includes("nothing reads")) ?? false);
    expect(JSON.parse(warning || "")).to.include({ variable: "RESULT_TLL", meant: "RESULT_TTL" });
  });
});
