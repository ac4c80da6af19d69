import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { exchange } from "../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { eventually } from "../shared/eventually.ts";

/** A handler that forgets to wait for a promise, which fails. */
const FORGETFUL = `import { defineHandler } from "paihao";
export const forgetful = defineHandler({ queue: "forgetful", run: () => { Promise.reject(new Error("forgotten")); return 1; } });
`;

describe("an unhandled rejection", () => {
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-test-"));
  const prefix = uniquePrefix();
  let server: ServerProcess;
  before(async () => {
    writeFileSync(path.join(dir, "forgetful.mjs"), FORGETFUL);
    server = await startProcess({ HANDLERS: dir, KEY_PREFIX: prefix, PORT: "0" });
  });
  after(async () => {
    await endProcesses([server]);
    rmSync(dir, { recursive: true });
    await removeKeys(storeUrl(), prefix);
  });

  it("is logged, and the process goes on with everything else", async () => {
    const submit = () => exchange(new URL("/v1/queues/forgetful/requests", server.url), { method: "POST", body: {} });
    const { json, headers } = await submit();
    expect(json).to.equal(1);
    const words = ["the process goes on", "forgotten", `"requestId":"${headers["x-request-id"]}"`];
    await eventually(() => server.logged.some((line) => words.every((word) => line.includes(word))));
    expect((await submit()).json).to.equal(1);
    expect(server.child.exitCode).to.equal(null);
  });
});
