import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { expect } from "chai";
import { ENV_FILE, envExample } from "../../scripts/env-example.ts";
import { misspeltVariables, readConfig, readKeySources } from "../../src/config/config.ts";
import { VARIABLES } from "../../src/config/variables.ts";
import { StartError } from "../../src/errors.ts";
import { parseAllowList } from "../../src/net/ssrf-guard.ts";

/** The message of the start that a setting stops, or "started". */
function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
    return "started";
  } catch (error) {
    expect(error).to.be.instanceOf(StartError);
    return (error as StartError).message;
  }
}

/** The one of the Standard Webhooks' own examples. */
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER_SECRET = `whsec_${"A".repeat(32)}`;
const HASH = "0".repeat(64);
const ALLOW = "hosts, addresses or CIDRs, separated by commas";
const NO_ITEM = "in an allow list is not a host name, an address or a CIDR";
const RATE = "a number of requests and a span of whole seconds, such as 100/1m, at most 24h";
const HOSTS = "host names or addresses without ports, separated by commas";
const ORIGINS = "* or origins such as https://app.example, separated by commas";

describe("the configuration", () => {
  const DAY_MS = 86_400_000;
  const local = ["localhost", "127.0.0.1", "[::1]"];
  const keys = [
    { name: "ci", scopes: new Set(["submit", "read"]), hash: Buffer.alloc(32, 0xab) },
    { name: "ops", scopes: new Set(["admin"]), hash: Buffer.alloc(32, 0xcd) },
  ];
  const own = { names: [...local, "127.0.0.1"], addresses: false, probes: false };
  const served = { names: [...local, "[::]", "tasks.example", "[::1]"], addresses: false, probes: true };
  /** Each variable with a value of its own, what it is called in the code, its default there, and what the value becomes. */
  const SETTINGS: readonly (readonly [name: string, sent: string, key: string, byDefault: unknown, read: unknown])[] = [
    ["REDIS_URL", "rediss://u:secret@h:6380/2", "redisUrl", undefined, "rediss://u:secret@h:6380/2"],
    ["STORE", "external", "store", undefined, "external"],
    ["DATA_DIR", "/var/lib/paihao", "dataDir", ".paihao", "/var/lib/paihao"],
    ["KEY_PREFIX", "team.a", "keyPrefix", "ph", "team.a"],
    ["PARTITIONS", "16", "partitions", 1, 16],
    ["HOST", "::", "host", "127.0.0.1", "::"],
    ["PORT", "0", "port", 3000, 0],
    ["ROLE", "api", "role", "all", "api"],
    ["WEB_CONCURRENCY", "4", "webConcurrency", 1, 4],
    ["HANDLERS", "./handlers", "handlersDir", undefined, "./handlers"],
    ["APP_VERSION", "1.4.2", "appVersion", undefined, "1.4.2"],
    ["CONCURRENCY", "2", "concurrency", 8, 2],
    ["LEASE", "1m", "leaseMs", 15_000, 60_000],
    ["ATTEMPTS", "1", "attempts", 3, 1],
    ["RESULT_TTL", "5m", "resultTtlMs", 3_600_000, 300_000],
    ["TOMBSTONE_TTL", "0", "tombstoneTtlMs", DAY_MS, 0],
    ["STRICT_RESULT_TTL", "1", "strictResultTtl", false, true],
    ["DEAD_TTL", "30d", "deadTtlMs", 7 * DAY_MS, 30 * DAY_MS],
    ["SYNC_LIMIT", "1500", "syncLimitMs", 25_000, 1500],
    ["MAX_BODY", "64kb", "maxBodyBytes", 1_048_576, 65_536],
    ["MAX_RESULT", "2MiB", "maxResultBytes", 16 * 1_048_576, 2 * 1_048_576],
    ["MAX_OUTPUT", "64kb", "maxOutputBytes", 1_048_576, 65_536],
    ["MAX_WAITING", "10", "maxWaiting", 1_000_000, 10],
    ["MAX_CONNECTIONS", "20", "maxConnections", 10_000, 20],
    ["MAX_STREAMS", "5", "maxStreams", 1000, 5],
    ["PENDING_STATUS", "202", "pendingStatus", 404, 202],
    ["MCP", "off", "mcp", "on", "off"],
    ["REPLICATE", "true", "replicate", false, true],
    ["DURABILITY", "fsync", "durability", "memory", "fsync"],
    ["TRUST_PROXY", "TRUE", "trustProxy", false, true],
    ["API_KEYS", `ci:submit+read:${"ab".repeat(32)}, ops:admin:${"CD".repeat(32)}`, "apiKeys", [], keys],
    ["API_KEYS_FILE", "/run/secrets/keys", "apiKeysFile", undefined, "/run/secrets/keys"],
    ["URL_SIGNING_KEY", "a secret, with a comma", "urlSigningKey", undefined, "a secret, with a comma"],
    ["URL_TTL", "10m", "urlTtlMs", DAY_MS, 600_000],
    ["RATE_LIMIT", "100/1m", "rateLimit", undefined, { max: 100, perS: 60 }],
    ["ALLOWED_HOSTS", "Tasks.example, ::1", "servedHosts", own, served],
    ["ALLOWED_HOSTS", "Tasks.example, ::1", "allowedHosts", [], ["tasks.example", "[::1]"]],
    ["AUTH", "none", "auth", undefined, "none"],
    ["CORS_ORIGINS", "https://a.example, http://b:5173", "corsOrigins", [], ["https://a.example", "http://b:5173"]],
    ["EMBED_ORIGINS", "https://shop.example", "embedOrigins", [], ["https://shop.example"]],
    ["WEBHOOK_SECRET", `${SECRET}, ${OTHER_SECRET}`, "webhookSecrets", [], [SECRET, OTHER_SECRET]],
    ["WEBHOOK_ALLOW", "h.internal", "webhookAllow", parseAllowList([]), parseAllowList(["h.internal"])],
    ["LOG_LEVEL", "silent", "logLevel", "info", "silent"],
    ["DRAIN_TIMEOUT", "0s", "drainTimeoutMs", 20_000, 0],
    ["SHOW_STACKS", "true", "showStacks", false, true],
  ];
  const named = (value: (row: (typeof SETTINGS)[number]) => unknown) =>
    Object.fromEntries(SETTINGS.map((row) => [row[2], value(row)]));

  it("reads every variable, in milliseconds and bytes", () => {
    const sent = Object.fromEntries(SETTINGS.map(([name, value]) => [name, value]));
    expect(readConfig(sent)).to.deep.equal(named((row) => row[4]));
  });

  it("is one process with its own store, on the loopback address, without keys, by default; a blank variable is unset", () => {
    const blank = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, " "]));
    for (const env of [{}, blank]) expect(readConfig(env)).to.deep.equal(named((row) => row[3]));
  });

  it("prefers command line options to the environment", () => {
    expect(readConfig({ PORT: "1", LEASE: "2s" }, { PORT: "2" })).to.include({ port: 2, leaseMs: 2000 });
    expect(readConfig({ PORT: "1" }, { PORT: undefined }).port).to.equal(1);
  });

  describe("refuses invalid values and names the variable, the value and what is expected", () => {
    const wrong: readonly [name: string, value: string, expected: string][] = [
      ["STORE", "redis", "one of external, native, embedded"],
      ["ROLE", "API", "one of all, api, worker"],
      ["LOG_LEVEL", "verbose", "one of trace, debug, info, warn, error, fatal, silent"],
      ["DURABILITY", "disk", "one of memory, fsync, replica, replicas"],
      ["PENDING_STATUS", "200", "one of 404, 202"],
      ["PORT", "65536", "a whole number from 0 to 65535"],
      ["PORT", "-1", "a whole number from 0 to 65535"],
      ["PORT", "3e3", "a whole number from 0 to 65535"],
      ["PORT", "http", "a whole number from 0 to 65535"],
      ["PARTITIONS", "0", "a whole number from 1 to 1024"],
      ["CONCURRENCY", "1.5", "a whole number from 1 to 10000"],
      ["ATTEMPTS", "0", "a whole number from 1 to 1000000"],
      ["MAX_WAITING", "unlimited", "a whole number from 1 to 100000000"],
      ["KEY_PREFIX", "{ph}", "1–64 characters of A–Z a–z 0–9 . _ -"],
      ["HOST", "local host", "an address or host name"],
      ["TRUST_PROXY", "yes", "true or false"],
      ["TRUST_PROXY", "constructor", "true or false"],
      ["WEBHOOK_ALLOW", "a.example,,b.example", `${ALLOW}: "" ${NO_ITEM}`],
      ["WEBHOOK_ALLOW", "https://a.example?x", `${ALLOW}: "https://a.example?x" ${NO_ITEM}`],
      ["WEBHOOK_ALLOW", "hooks.internal, 10.0.0.0/33", `${ALLOW}: "10.0.0.0/33" ${NO_ITEM}`],
      ["AUTH", "off", "one of none"],
      ["RATE_LIMIT", "100", RATE],
      ["RATE_LIMIT", "0/1m", RATE],
      ["RATE_LIMIT", "100/1500ms", RATE],
      ["RATE_LIMIT", "100/25h", RATE],
      ["ALLOWED_HOSTS", "tasks.example:8443", `${HOSTS}: "tasks.example:8443" is not a host without a port`],
      ["ALLOWED_HOSTS", "*.example", `${HOSTS}: "*.example" is not a host without a port`],
      ["ALLOWED_HOSTS", "https://a.example", `${HOSTS}: "https://a.example" is not a host without a port`],
      ["CORS_ORIGINS", "https://a.example/", `${ORIGINS}: "https://a.example/" is not an origin`],
      ["CORS_ORIGINS", "*, null", `${ORIGINS}: "null" is not an origin`],
      ["EMBED_ORIGINS", "https://a.example/", `${ORIGINS}: "https://a.example/" is not an origin`],
      ["CORS_ORIGINS", "https://*.example", `${ORIGINS}: "https://*.example" is not an origin`],
      ["MAX_BODY", "0", "a size in bytes, or with a unit: 64kb, 1mb; at most 512mb"],
      ["MAX_BODY", "1gb", "a size in bytes, or with a unit: 64kb, 1mb; at most 512mb"],
      ["MAX_RESULT", "5i", "a size in bytes, or with a unit: 64kb, 1mb; at most 512mb"],
    ];
    for (const [name, value, expected] of wrong) {
      it(`${name}=${value}`, () => {
        const where = name === "ROLE" || name === "STORE" ? { REDIS_URL: "redis://h" } : {};
        expect(refusal({ ...where, [name]: value })).to.equal(`${name} is "${value}", expected ${expected}`);
      });
    }

    const durations: readonly [name: string, value: string, limits: string][] = [
      ["LEASE", "999ms", "at least 1s and at most 24d"],
      ["LEASE", "25d", "at least 1s and at most 24d"],
      ["SYNC_LIMIT", "0", "at least 1ms and at most 24d"],
      ["DRAIN_TIMEOUT", "4w", "at least 0s and at most 24d"],
      ["DRAIN_TIMEOUT", "-1s", "at least 0s and at most 24d"],
      ["RESULT_TTL", "0s", "at least 1ms and at most 3650d"],
      ["TOMBSTONE_TTL", "4000d", "at least 0s and at most 3650d"],
      ["DEAD_TTL", "for ever", "at least 1ms and at most 3650d"],
    ];
    for (const [name, value, limits] of durations) {
      it(`${name}=${value}`, () => {
        const message = refusal({ [name]: value });
        expect(message).to.match(new RegExp(`^${name} is "${value}", expected a duration such as "500ms"`));
        expect(message).to.match(new RegExp(`${limits}$`));
      });
    }
  });

  it("never repeats the password of a Redis address", () => {
    for (const url of ["http://:hunter2@redis.example", "redis://:hunter2 @h", "redis://:hunter2@h/@"]) {
      const message = refusal({ REDIS_URL: url });
      expect(message).to.match(
        /^REDIS_URL is the value given, expected redis:\/\/host:port, .*: the address does not have this form/,
      );
      expect(message).not.to.contain("hunter2");
    }
  });

  describe("of secrets", () => {
    const keys =
      "the value given, expected name:scope+scope:<sha256 hex of the key>, perhaps :20270301T120000Z, when it expires, separated by commas";
    const webhook =
      "the value given, expected whsec_ and the base64 of 24 to 64 bytes, or two of them separated by a comma";
    const wrong: readonly [name: string, value: string, message: string][] = [
      [
        "API_KEYS",
        `ci:submit:hunter2`,
        `${keys}: the key ci has no SHA-256 of 64 hexadecimal digits as its third part`,
      ],
      [
        "API_KEYS",
        `ci:write:${HASH}`,
        `${keys}: the key ci has an unknown scope, expected some of submit, read, admin, work`,
      ],
      [
        "API_KEYS",
        `ci::${HASH}`,
        `${keys}: the key ci has an unknown scope, expected some of submit, read, admin, work`,
      ],
      ["API_KEYS", `ci:read:${HASH},ci:work:${HASH}`, `${keys}: two keys are named ci`],
      ["URL_SIGNING_KEY", "hunter2", "the value given, expected a secret of at least 16 characters"],
      ["WEBHOOK_SECRET", "hunter2", `${webhook}: one of the secrets does not have this form`],
      ["WEBHOOK_SECRET", `whsec_${"A".repeat(31)}`, `${webhook}: one of the secrets does not have this form`],
      ["WEBHOOK_SECRET", `whsec_${"A".repeat(28)}`, `${webhook}: one of the secrets does not have this form`],
      ["WEBHOOK_SECRET", [SECRET, SECRET, SECRET].join(), webhook],
    ];
    for (const [name, value, message] of wrong) {
      it(`describes what is wrong with ${name} without its value: ${value.slice(0, 24)}`, () => {
        const refused = refusal({ [name]: value });
        expect(refused).to.equal(`${name} is ${message}`);
        expect(refused).not.to.contain("hunter2");
      });
    }

    it("refuses a key name that could be the key itself", () => {
      expect(refusal({ API_KEYS: `ph_hunter2:submit:${HASH}` }))
        .to.match(/: the name of an API key has 1–64 characters/)
        .and.not.match(/hunt/);
    });
  });

  describe("of an address that others can reach", () => {
    it("prevents a start without keys, and says what allows it", () => {
      for (const HOST of ["0.0.0.0", "::", "192.0.2.1", "host.example", "127.0.0.1.example"]) {
        const message = refusal({ HOST });
        expect(message).to.match(new RegExp(`^HOST is "${HOST}" but there are no API_KEYS`));
        expect(message).to.match(/set API_KEYS or API_KEYS_FILE, use a loopback address, or set AUTH=none/);
      }
    });

    it("allows a start with keys, with a key file, or with ALLOW_ANONYMOUS", () => {
      const keys = [{ API_KEYS: `ci:submit:${HASH}` }, { API_KEYS_FILE: "keys" }, { AUTH: "none" }];
      for (const env of keys) expect(readConfig({ HOST: "0.0.0.0", ...env }).host).to.equal("0.0.0.0");
    });

    it("allows a start without keys on loopback addresses, and if nothing listens", () => {
      for (const HOST of ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
        expect(readConfig({ HOST }).host).to.equal(HOST);
      const worker = { HOST: "0.0.0.0", ROLE: "worker", REDIS_URL: "redis://redis" };
      expect(readConfig(worker).port).to.equal(undefined);
      expect(refusal({ ...worker, PORT: "3000" })).to.match(/^HOST is "0\.0\.0\.0"/);
    });
  });

  describe("read in part", () => {
    it("gives the keys commands their file even if other settings are invalid", () => {
      expect(readKeySources({ PORT: "none", API_KEYS_FILE: "k" })).to.deep.equal({ apiKeys: [], apiKeysFile: "k" });
      expect(readKeySources({ API_KEYS: `ci:work:${HASH}` }).apiKeys.map(({ name }) => name)).to.deep.equal(["ci"]);
    });
  });

  describe("of a role", () => {
    const redis = { REDIS_URL: "redis://redis:6379" };

    it("gives a worker a port only if PORT is set", () => {
      expect(readConfig({ ...redis, ROLE: "worker" }).port).to.equal(undefined);
      expect(readConfig({ ...redis, ROLE: "worker", PORT: "3001" }).port).to.equal(3001);
      expect(readConfig({ ...redis, ROLE: "worker" }, { PORT: "3002" }).port).to.equal(3002);
      expect(readConfig({ ...redis, ROLE: "api" }).port).to.equal(3000);
    });

    it("requires a Redis that the other role can reach, too", () => {
      for (const role of ["api", "worker"]) {
        expect(refusal({ ROLE: role })).to.match(
          new RegExp(`^ROLE is ${role} but REDIS_URL is not set.*redis://host:port$`),
        );
        expect(refusal({ ...redis, ROLE: role, STORE: "native" })).to.match(
          new RegExp(`^STORE is native, expected external with ROLE ${role}`),
        );
      }
    });

    it("needs REDIS_URL for an external store", () => {
      expect(refusal({ STORE: "external" })).to.equal(
        "STORE is external but REDIS_URL is not set, expected redis://host:port",
      );
    });

    it("allows choosing another store despite REDIS_URL", () => {
      expect(readConfig({ ...redis, STORE: "embedded" }).store).to.equal("embedded");
    });
  });

  describe("of .env.example", () => {
    it("is what the table of settings says", () => {
      expect(readFileSync(ENV_FILE, "utf8"), "npm run docs").to.equal(envExample());
    });

    it("starts the server as if it were missing", () => {
      const env = parseEnv(envExample());
      expect(readConfig(env)).to.deep.equal(readConfig({}));
    });
  });
});

describe("variables that look like those of the server", () => {
  const meantBy = (...names: string[]) =>
    misspeltVariables(Object.fromEntries(names.map((name) => [name, "1"]))).map(({ meant }) => meant);

  it("are recognized by a similar name, or by PAIHAO_", () => {
    expect(
      meantBy("CONCURENCY", "REIDS_URL", "Max_Body", "PAIHAO_CONCURRENCY", "PAIHAO_KEYS", "PAIHAO_FOO"),
    ).to.deep.equal(["CONCURRENCY", "REDIS_URL", "MAX_BODY", "CONCURRENCY", "PAIHAO_KEY", undefined]);
  });

  it("do not include those of other programs, Kubernetes and the commands, nor correct ones", () => {
    const others = ["HOSTNAME", "HOME", "PATH", "LOGNAME", "SHELL", "npm_config_cache", "PORTS", "OTEL_TRACES_SAMPLER"];
    const services = ["PAIHAO_SERVICE_HOST", "PAIHAO_API_SERVICE_PORT_HTTP", "PAIHAO_PORT", "PAIHAO_PORT_80_TCP_ADDR"];
    expect(meantBy(...others, ...services, "PAIHAO_URL", "CONCURRENCY")).to.deep.equal([]);
    expect(meantBy("REDIS_URI", "REDIS_URL"), "another program's").to.deep.equal([]);
  });
});
