import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import type { Redis } from "ioredis";
import { readConfig } from "../../../src/config/config.ts";
import { openEngine } from "../../../src/engine/upkeep/boot.ts";
import { createLog } from "../../../src/log.ts";
import { connectOnce } from "../../../src/store/servers/connect-once.ts";
import { type Receiver, startReceiver } from "../../extras/webhooks/receiver.ts";
import { runCli } from "../../helpers/cli.ts";
import { startServer } from "../../helpers/http/server.ts";
import { expectStartError } from "../../helpers/start-error.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { keepFromSaving } from "../../helpers/store/unsaved.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";
import { ROOT } from "../../shared/root.ts";

/** The rights of docs/security.md, as arguments of ACL SETUSER. */
function documentedRights(): string[] {
  const guide = readFileSync(path.join(ROOT, "docs/security.md"), "utf8");
  const [, rights = ""] = /^user paihao on >\S+ (.+)$/m.exec(guide) ?? [];
  return rights.split(" ");
}

/** Every command that reads or changes the store, by itself or through its server, and its exit code if it is not 0. */
const COMMANDS: readonly (readonly [line: string, code?: number])[] = [
  ["submit default 1 --id one --wait"],
  ["submit failing 1 --id dead"],
  ["watch dead", 1],
  ["submit default 1 --id later --delay 1h"],
  ["move later --priority 0"],
  ["status one"],
  ["get one"],
  ["output one"],
  ["history one"],
  ["again one --id two"],
  ["watch two"],
  ["ls default --state finished"],
  ["dead ls failing"],
  ["dead retry failing dead"],
  ["watch dead", 1],
  ["dead delete failing --all --yes"],
  ["pause default"],
  ["resume default"],
  ["submit default 1 --group all"],
  ["group all"],
  ["queues"],
  ["top --once"],
  ["cancel later"],
  ["verify"],
  ["verify --heal"],
  ["doctor"],
];

describe("the start on a store", function () {
  this.timeout(60_000);
  let redis: PrivateRedis;
  let admin: Redis;
  before(async function () {
    if (storeKind() === "embedded") this.skip();
    redis = await startRedis();
    admin = (await connectOnce(redis.url)) as Redis;
  });
  after(async () => {
    admin?.disconnect();
    await redis?.stop("SIGKILL");
  });

  const urlWith = async (...rights: string[]) => {
    await admin.call("ACL", "SETUSER", "limited", "reset", "on", ">pw", ...rights);
    return redis.url.replace("//", "//limited:pw@");
  };
  const open = (url: string, env: Readonly<Record<string, string>> = {}) =>
    openEngine(readConfig({ REDIS_URL: url, ...env }), url, [], createLog("silent"));

  it("is refused to a user without channels, as Redis 7 makes them, and says what to allow", async () => {
    const url = await urlWith("~*", "resetchannels", "+@all");
    await expectStartError(
      open(url),
      "may not use channels that begin with {ph: (PUBLISH, SUBSCRIBE); allow it: ACL SETUSER … '&{ph:*'",
    );
  });

  it("is refused to a user who may not run something that scripts need, on other keys, or no scripts at all", async () => {
    const without = await urlWith("~*", "&*", "+@all", "-zrandmember", "-wait");
    await expectStartError(open(without), "may not run ZRANDMEMBER; allow it: ACL SETUSER … +zrandmember ");
    await expectStartError(open(without, { DURABILITY: "replica" }), "may not run ZRANDMEMBER, WAIT; ");
    const elsewhere = await urlWith("~other*", "&*", "+@all");
    await expectStartError(open(elsewhere), "may not use keys that begin with {ph:; allow it: ACL SETUSER … '~{ph:*'");
    const unscripted = await urlWith("~*", "&*", "+@all", "-@scripting");
    await expectStartError(
      open(unscripted),
      "may not run FUNCTION|LIST, FUNCTION|DELETE, FUNCTION|LOAD, FCALL; allow it: ACL SETUSER … " +
        "'+function|list' '+function|delete' '+function|load' +fcall ",
    );
  });

  it("tries each command that a script uses, and no other", () => {
    const source = path.join(ROOT, "src");
    const sources = readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".lua"))
      .map((file) => readFileSync(path.join(source, file), "utf8"));
    const used = sources.flatMap((text) => [...text.matchAll(/redis\.p?call\(\s*'([A-Z]+)'/g)].map(([, name]) => name));
    const probe = readFileSync(path.join(source, "store/ops/deployment.lua"), "utf8");
    const tried = [...probe.matchAll(/^ +\{ '([A-Z]+)'/gm)].map(([, name]) => name);
    expect(new Set(tried)).to.deep.equal(new Set(used));
  });

  it("ends with one line that names the cause if writes are refused, after a while in which they may be accepted again", async () => {
    const [full, replica] = await Promise.all([startRedis(), startRedis({ args: ["--replicaof", "127.0.0.1", "1"] })]);
    const fullAdmin = (await connectOnce(full.url)) as Redis;
    try {
      await keepFromSaving(fullAdmin, full.dir);
      await admin.config("SET", "min-replicas-to-write", "1");
      await Promise.all([
        // From the beginning of a start on: such a server refuses PING as well.
        expectStartError(
          startServer({ REDIS_URL: full.url }),
          /^the store refuses writes: it cannot save to its disk.*$/,
        ),
        expectStartError(open(replica.url), /^the store refuses writes: it is a replica.*$/),
        expectStartError(open(redis.url), /^the store refuses writes: .*min-replicas-to-write.*$/),
      ]);
      const opening = open(redis.url);
      await admin.config("SET", "min-replicas-to-write", "0");
      (await opening).close();
    } finally {
      fullAdmin.disconnect();
      await Promise.all([full.stop("SIGKILL"), replica.stop("SIGKILL")]);
    }
  });

  describe("for a user with no more rights than docs/security.md gives", () => {
    let receiver: Receiver;
    before(async () => {
      receiver = await startReceiver();
    });
    after(() => receiver?.close());

    for (const partitions of ["1", "3"]) {
      it(`serves submissions, results, webhooks, limits and all commands, with PARTITIONS=${partitions}`, async function () {
        this.timeout(240_000);
        const prefix = `least${partitions}`;
        const rights = documentedRights().map((right) => right.replace("{ph:", `{${prefix}:`));
        const limit = partitions === "1" ? {} : { RATE_LIMIT: "1000/1m" };
        let url = await urlWith(...rights);
        if (limit.RATE_LIMIT) {
          await expectStartError(
            open(url, { ...limit, KEY_PREFIX: prefix }),
            "may not run EVAL, EVALSHA; allow it: ACL SETUSER … +eval +evalsha ",
          );
          url = await urlWith(...rights, "+eval", "+evalsha");
        }
        await admin.call("ACL", "LOG", "RESET");
        const server = await startServer({
          ...{ REDIS_URL: url, KEY_PREFIX: prefix, PARTITIONS: partitions },
          ...limit,
          ...{ WEBHOOK_ALLOW: "127.0.0.1", STRICT_RESULT_TTL: "true" },
        });
        try {
          expect((await server.post("default", { n: 1 })).status).to.equal(200);
          const later = await server.enqueue("default", 1, "?delay=3600");
          expect((await server.send(`/v1/requests/${later}`, { method: "DELETE" })).status).to.be.oneOf([200, 204]);
          const delivered = receiver.received.length + 1;
          const told = await server.enqueue("default", 2, `?webhook=${encodeURIComponent(receiver.url)}`);
          await server.until(told, "succeeded");
          await receiver.count(delivered);
          for (const read of ["/v1/queues", "/v1/workers", "/v1/history", "/readyz", "/v1/queues/default/finished"])
            expect((await server.send(read)).status, read).to.equal(200);
          const env = {
            ...{ PAIHAO_URL: server.url, REDIS_URL: url, KEY_PREFIX: prefix, PARTITIONS: partitions },
            PORT: "0",
            HANDLERS: path.join(ROOT, "test/fixtures/handlers"),
          };
          for (const [line, code = 0] of partitions === "3" ? COMMANDS : []) {
            const { code: exited, stderr } = await runCli(line.split(" "), { env: { ...env, ...limit } });
            expect(exited, `${line}: ${stderr}`).to.equal(code);
          }
          expect(server.log.filter((line) => /NOPERM|permission/.test(JSON.stringify(line)))).to.deep.equal([]);
          expect(await admin.call("ACL", "LOG"), "refused").to.deep.equal([]);
        } finally {
          await server.stop({ keep: true });
        }
      });
    }
  });
});
