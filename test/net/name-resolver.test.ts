import { Resolver } from "node:dns/promises";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { mock } from "node:test";
import { expect } from "chai";
import { ProblemError } from "../../src/errors.ts";
import { checkTarget } from "../../src/extras/webhooks/target.ts";
import { mayResolveLater, NameResolver, type NameResolverOptions } from "../../src/net/name-resolver.ts";
import { AddressGuard, parseAllowList } from "../../src/net/ssrf-guard.ts";
import { type NameServer, startNameServer } from "./name-server.ts";

const PUBLIC = "93.184.215.14";
const SERVFAIL = 2;
const NXDOMAIN = 3;

describe("the resolver for names that callers chose", () => {
  let server: NameServer;
  let dir: string;
  let hostsFile: string;
  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-hosts-"));
    hostsFile = path.join(dir, "hosts");
    const lines = [
      ...["# 10.0.0.9 not.this", "127.0.0.1\tlocalhost", "10.1.2.3 Files.internal files # ours"],
      ...["  10.1.2.4 \t spaced.internal", "nowhere good.example", ""],
    ];
    await writeFile(hostsFile, lines.join("\n"));
  });
  after(() => rm(dir, { recursive: true }));
  beforeEach(async () => {
    server = await startNameServer({ "good.example": PUBLIC, "gone.example": NXDOMAIN, "ill.example": SERVFAIL });
  });
  afterEach(() => server.close());

  const resolver = (options: NameResolverOptions = {}) =>
    new NameResolver({ servers: [server.address], hostsFile, ...options });
  const code = (work: Promise<unknown>) =>
    work.then(
      () => "resolved",
      (error: NodeJS.ErrnoException) => error.code,
    );

  it("is not delayed by names whose servers never answer", async () => {
    const names = resolver();
    const silent = Array.from({ length: 32 }, (_, n) => code(names.resolve(`silent-${n}.example`)));
    expect(await Promise.race([names.resolve("good.example"), ...silent])).to.deep.equal([
      { address: PUBLIC, family: 4 },
    ]);
    expect(new Set(await Promise.all(silent))).to.deep.equal(new Set(["ETIMEOUT"]));
  });

  it("admits webhooks to good hosts meanwhile, and reports that the others may resolve later", async () => {
    const names = resolver();
    const guard = new AddressGuard(parseAllowList([]), { resolve: (host) => names.resolve(host) });
    const silent = Array.from({ length: 8 }, (_, n) =>
      checkTarget(`https://silent-${n}.example/`, guard, 500).catch((error: unknown) => error),
    );
    expect(await checkTarget("https://good.example/", guard)).to.equal("https://good.example/");
    silent.push(checkTarget("https://ill.example/", guard).catch((error: unknown) => error));
    for (const error of await Promise.all(silent)) {
      expect(error).to.be.instanceOf(ProblemError);
      const { code, status, retryAfterS, extensions } = error as ProblemError;
      expect({ code, status, extensions }).to.deep.equal({
        code: "resolver-unavailable",
        status: 503,
        extensions: { parameter: "webhook" },
      });
      expect(retryAfterS).to.be.above(0);
    }
    const gone = await checkTarget("https://gone.example/", guard).catch((error: unknown) => error);
    expect(gone).to.have.property("code", "invalid-parameter");
  });

  it("distinguishes a name that does not exist from one that cannot be queried", async () => {
    const names = resolver();
    expect(await code(names.resolve("gone.example"))).to.equal("ENOTFOUND");
    const error = await names.resolve("ill.example").catch((thrown: unknown) => thrown);
    expect([(error as NodeJS.ErrnoException).code, mayResolveLater(error)]).to.deep.equal(["ESERVFAIL", true]);
    expect(mayResolveLater(Object.assign(new Error("x"), { code: "EAI_AGAIN" }))).to.equal(true);
    expect(mayResolveLater(new Error("no code"))).to.equal(false);
  });

  it("resolves localhost and the names in the hosts file without a query", async () => {
    const names = resolver();
    for (const name of ["files.internal", "FILES", "files.internal."]) {
      expect(await names.resolve(name), name).to.deep.equal([{ address: "10.1.2.3", family: 4 }]);
    }
    expect(await names.resolve("localhost")).to.deep.equal([{ address: "127.0.0.1", family: 4 }]);
    expect((await names.resolve("app.localhost")).map(({ address }) => address)).to.deep.equal(["127.0.0.1", "::1"]);
    expect(server.asked).to.deep.equal([]);
  });

  it("reads the hosts file as people write it, and does without one", async () => {
    const names = resolver();
    expect(await names.resolve("spaced.internal")).to.deep.equal([{ address: "10.1.2.4", family: 4 }]);
    expect(await names.resolve("good.example")).to.deep.equal([{ address: PUBLIC, family: 4 }]);
    const without = resolver({ hostsFile: path.join(dir, "none") });
    expect((await without.resolve("localhost")).map(({ address }) => address)).to.deep.equal(["127.0.0.1", "::1"]);
    expect(await without.resolve("good.example")).to.deep.equal([{ address: PUBLIC, family: 4 }]);
    expect(new Set(server.asked)).to.deep.equal(new Set(["good.example"]));
  });

  it("asks again once there was an answer, and reads the list of name servers again after a while", async () => {
    let laterMs = 0;
    const now = performance.now.bind(performance);
    const clock = mock.method(performance, "now", () => now() + laterMs);
    const lists = mock.method(Resolver.prototype, "setServers");
    try {
      const names = resolver();
      for (const count of [1, 2]) {
        await names.resolve("good.example");
        expect([server.asked.length, lists.mock.callCount()]).to.deep.equal([2 * count, 1]);
      }
      laterMs = 40_000;
      await names.resolve("good.example");
      expect(lists.mock.callCount()).to.equal(2);
    } finally {
      clock.mock.restore();
      lists.mock.restore();
    }
  });

  it("shares one query between callers of the same name, and limits the names that are resolved at once", async () => {
    const names = resolver({ max: 2, limitMs: 200 });
    const same = Array.from({ length: 10 }, () => code(names.resolve("silent.example")));
    const other = code(names.resolve("other.example"));
    expect(await code(names.resolve("third.example"))).to.equal("EAGAIN");
    expect(new Set(await Promise.all([...same, other]))).to.deep.equal(new Set(["ETIMEOUT"]));
    expect(server.asked.filter((name) => name === "silent.example")).to.have.length.below(3);
  });

  it("resolves the names that the operator listed with the operating system", async () => {
    expect((await resolver().resolveBySystem("localhost")).map(({ address }) => address)).to.include("127.0.0.1");
    const guard = new AddressGuard(parseAllowList(["localhost"]));
    expect((await guard.check("http://localhost:1/")).href).to.equal("http://localhost:1/");
  });
});
