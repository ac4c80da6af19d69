import { EventEmitter } from "node:events";
import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { DeploymentSecret } from "../../../src/engine/opening/deployment-secret.ts";
import { ProblemError } from "../../../src/errors.ts";
import { type Connection, connect } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { type Scripts, scriptsOf } from "../../../src/store/verbs/scripts.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

describe("the secret of a deployment", () => {
  const { log, messages } = recordingLog();
  let connection: Connection;
  let keys: Keys;
  const opened: DeploymentSecret[] = [];
  const open = async (of = keys) => {
    const secret = await DeploymentSecret.open(scriptsOf(connection), of, connection, log);
    opened.push(secret);
    return secret;
  };

  beforeEach(async () => {
    connection = await connect(storeUrl(), "secret", log);
    keys = new Keys(uniquePrefix(), 2);
  });
  afterEach(async () => {
    for (const secret of opened.splice(0)) secret.close();
    await connection.del(stored());
    connection.disconnect();
  });
  const stored = () => storedKey(keys.tag(0), "secret");

  it("is created at the first start, and is the same for all processes", async () => {
    const [first, ...others] = await Promise.all([open(), open(), open()]);
    expect(Buffer.from(first?.value ?? "", "base64url")).to.have.length(32);
    for (const other of [...others, await open()]) expect(other.value).to.equal(first?.value);
  });

  it("differs between prefixes", async () => {
    const here = await open();
    const there = new Keys(uniquePrefix(), 2);
    const other = await open(there);
    await connection.del(storedKey(there.tag(0), "secret"));
    expect(other.value).not.to.equal(here.value);
  });

  it("is restored to a store that was emptied, after reconnecting", async () => {
    const secret = await open();
    await connection.del(stored());
    connection.emit("ready");
    await eventually(async () => (await connection.get(stored())) === secret.value);
    expect((await open()).value).to.equal(secret.value);
  });

  it("gives way to one that another process wrote meanwhile, so that all agree", async () => {
    const secret = await open();
    await connection.set(stored(), "of another process");
    connection.emit("ready");
    await eventually(() => secret.value === "of another process");
    expect(messages).to.include(
      "deployment secret: it has changed in the store, which may have been emptied; Idempotency-Keys now give other ids",
    );
    expect(JSON.stringify(messages)).not.to.contain("of another process");
  });
});

describe("the secret of a running process", () => {
  it("is written again each half minute, until the process has closed it", async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    try {
      const proposed: string[] = [];
      const scripts = {
        secret: async (_: string, { proposal }: { proposal: string }) => {
          proposed.push(proposal);
          if (proposed.length === 2) throw new ProblemError("store-unavailable");
          return proposal;
        },
      } as unknown as Scripts;
      const connection = new EventEmitter() as unknown as Connection;
      const { log, messages } = recordingLog();
      const secret = await DeploymentSecret.open(scripts, new Keys("ph", 1), connection, log);
      for (let n = 0; n < 2; n += 1) {
        mock.timers.tick(30_000);
        await turn();
      }
      expect(proposed).to.deep.equal(Array(3).fill(secret.value));
      // Only the one that failed is worth a line.
      expect(messages).to.have.lengthOf(1);
      secret.close();
      mock.timers.tick(30_000);
      connection.emit("ready");
      expect(proposed).to.have.lengthOf(3);
    } finally {
      mock.timers.reset();
    }
  });
});
