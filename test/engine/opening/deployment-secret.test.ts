import { EventEmitter } from "node:events";
import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { DeploymentSecret, type SecretParts } from "../../../src/engine/opening/deployment-secret.ts";
import { ProblemError } from "../../../src/errors.ts";
import { connect } from "../../../src/store/connection.ts";
import { Keys } from "../../../src/store/keys.ts";
import { scriptsOf } from "../../../src/store/verbs/scripts.ts";
import { recordingLog } from "../../helpers/recording-log.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { storedKey } from "../../helpers/store/stored.ts";
import { eventually } from "../../shared/eventually.ts";

describe("the secret of a deployment", () => {
  const { log, messages } = recordingLog();
  let parts: SecretParts;
  const opened: DeploymentSecret[] = [];
  const open = async (changed: Partial<SecretParts> = {}) => {
    const secret = await DeploymentSecret.open({ ...parts, ...changed });
    opened.push(secret);
    return secret;
  };

  beforeEach(async () => {
    const connection = await connect(storeUrl(), "secret", log);
    parts = { scripts: scriptsOf(connection), keys: new Keys(uniquePrefix(), 2), connection, log };
  });
  afterEach(async () => {
    for (const secret of opened.splice(0)) secret.close();
    await parts.connection.del(stored());
    parts.connection.disconnect();
  });
  const stored = () => storedKey(parts.keys.tag(0), "secret");

  it("is created at the first start, and is the same for all processes", async () => {
    const [first, ...others] = await Promise.all([open(), open(), open()]);
    expect(Buffer.from(first?.value ?? "", "base64url")).to.have.length(32);
    for (const other of [...others, await open()]) expect(other.value).to.equal(first?.value);
  });

  it("differs between prefixes", async () => {
    const here = await open();
    const there = new Keys(uniquePrefix(), 2);
    const other = await open({ keys: there });
    await parts.connection.del(storedKey(there.tag(0), "secret"));
    expect(other.value).not.to.equal(here.value);
  });

  it("is restored to a store that was emptied, after reconnecting", async () => {
    const secret = await open();
    await parts.connection.del(stored());
    parts.connection.emit("ready");
    await eventually(async () => (await parts.connection.get(stored())) === secret.value);
    expect((await open()).value).to.equal(secret.value);
  });

  it("gives way to one that another process wrote meanwhile, so that all agree", async () => {
    const secret = await open();
    await parts.connection.set(stored(), "of another process");
    parts.connection.emit("ready");
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
      } as unknown as SecretParts["scripts"];
      const connection = new EventEmitter() as unknown as SecretParts["connection"];
      const { log, messages } = recordingLog();
      const secret = await DeploymentSecret.open({ scripts, keys: new Keys("ph", 1), connection, log });
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
