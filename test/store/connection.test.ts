import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { type FakeRedis, startFakeRedis } from "./servers/fake-redis.ts";

describe("a connection to the store", () => {
  it("does not keep a process alive once closed, even if the store is unreachable", async () => {
    const store: FakeRedis = await startFakeRedis({ redis_version: "7.2.0", loading: "0" });
    const script = fileURLToPath(new URL("./leaver.ts", import.meta.url));
    const leaver = spawn(process.execPath, ["--import", "tsx", script, `redis://127.0.0.1:${store.port}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const left = once(leaver, "exit");
      const [said] = await Promise.race([once(leaver.stdout, "data"), left]);
      expect(String(said)).to.equal("connected\n");
      await store.stop();
      expect(await left).to.deep.equal([0, null]);
    } finally {
      leaver.kill("SIGKILL");
    }
  });
});
