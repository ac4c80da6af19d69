import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import http from "node:http";
import { isIP } from "node:net";
import { expect } from "chai";
import fc from "fast-check";
import { StartError } from "../../src/errors.ts";
import { AddressGuard, type GuardOptions, parseAllowList, TargetRefused } from "../../src/net/ssrf-guard.ts";
import { thrownBy } from "../handlers/context.ts";
import { PageServer } from "../handlers/page-server.ts";

const resolvesTo = (...addresses: string[]): NonNullable<GuardOptions["resolve"]> => {
  const found: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
  return async () => found;
};
const guard = (allow: string[] = [], options: GuardOptions = {}) => new AddressGuard(parseAllowList(allow), options);

describe("the address guard", () => {
  describe("for a URL", () => {
    it("admits http and https to public addresses and to names", () => {
      const addresses = ["8.8.8.8", "168.63.129.15", "168.63.129.17", "161.25.255.255", "166.7.255.255", "166.12.0.0"];
      const urls = addresses.map((address) => `http://${address}/`);
      const likeIsatap = "https://[2606:4700::1:5efe:a00:1]/";
      for (const url of [...urls, "https://example.com/a?b#c", "https://[2606:4700::1111]:8443/", likeIsatap]) {
        expect(guard().admit(url).href, url).to.equal(new URL(url).href);
      }
    });

    it("refuses anything but http and https URLs", () => {
      for (const url of ["", "example.com", "/x", "http://", "ftp://example.com/", "file:///etc/passwd", "data:,x"]) {
        expect(() => guard().admit(url), url).to.throw(TargetRefused, "not an http or https URL");
      }
    });

    it("refuses credentials", () => {
      for (const url of ["http://user@example.com/", "https://:secret@example.com/", "https://u:p@example.com/"]) {
        expect(() => guard().admit(url), url).to.throw(TargetRefused, "user name or password");
      }
    });

    for (const [kind, hosts] of Object.entries({
      loopback: ["127.0.0.1", "127.255.255.254", "[::1]"],
      private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
      "link-local": ["169.254.169.254", "[fe80::1]"],
      "unique-local": ["[fc00::1]", "[fd12:3456::1]"],
      "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
      multicast: ["224.0.0.1", "239.255.255.255", "[ff02::1]"],
      broadcast: ["255.255.255.255"],
      unspecified: ["0.0.0.0", "0.1.2.3", "[::]"],
      reserved: ["192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "[2001:db8::1]"],
      "not handed out yet": ["[4000::1]", "[fec0::1]", "[100::1]"],
      "for benchmarks": ["198.18.0.1", "198.19.255.255", "[2001:2::1]"],
      "for documentation": ["192.0.2.1", "198.51.100.255", "203.0.113.1", "[2001:db8:ffff::1]", "[3fff::1]"],
      "for the protocols themselves": [
        "192.0.0.9",
        "192.88.99.1",
        "192.31.196.1",
        "[2001:1::1]",
        "[2001:20::1]",
        "[5f00::1]",
      ],
      "a platform's own": ["168.63.129.16", "161.26.0.10", "166.8.0.1", "166.11.255.254"],
      "a platform's metadata": [
        ...["169.254.169.254", "169.254.0.23", "169.254.42.42", "100.100.100.200", "192.0.0.192"],
        ...["[fd00:ec2::254]", "[fd20:ce::254]", "[fe80::a9fe:a9fe]"],
      ],
      "IPv4-mapped": ["[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::ffff:7f00:1]", "[::ffff:168.63.129.16]"],
      "IPv4-compatible or IPv4-translated": ["[::127.0.0.1]", "[::8.8.8.8]", "[::ffff:0:10.0.0.1]"],
      "6to4, NAT64 and Teredo": [
        ...["[2002:7f00:1::]", "[2002:a83f:8110::1]", "[64:ff9b::7f00:1]", "[64:ff9b::a83f:8110]"],
        ...["[64:ff9b:1::7f00:1]", "[2001:0:7f00:1::]", "[2001::a9fe:a9fe]"],
      ],
      ISATAP: ["[2606:4700::5efe:10.0.0.1]", "[2606:4700::200:5efe:a9fe:a9fe]"],
      "oddly written": ["0x7f.1", "2130706433", "0177.0.0.1", "127.1", "0", "0x7f000001", "127.0.0.1.", "①②⑦.0.0.1"],
    })) {
      it(`refuses an address that is ${kind}`, () => {
        for (const host of hosts) {
          expect(() => guard().admit(`http://${host}/`), host).to.throw(TargetRefused, "is not a public address");
        }
      });
    }

    it("refuses every address of the private networks, however it is written", () => {
      const written = (n: number) =>
        fc.constantFrom(`${n}`, `0x${n.toString(16)}`, `0${n.toString(8)}`, `${n >>> 24}.${n & 0xffffff}`);
      const within = (base: number, bits: number) => fc.nat({ max: 2 ** (32 - bits) - 1 }).map((low) => base + low);
      const privates = fc.oneof(
        within(0x7f000000, 8),
        within(0x0a000000, 8),
        within(0xac100000, 12),
        within(0xc0a80000, 16),
      );
      fc.assert(
        fc.property(privates.chain(written), (host) => {
          expect(() => guard().admit(`http://${host}/`)).to.throw(TargetRefused);
        }),
      );
    });
  });

  describe("for what a name resolves to", () => {
    it("admits a name with public addresses", async () => {
      const url = await guard([], { resolve: resolvesTo("8.8.8.8", "2606:4700::1111") }).check("https://example.com/");
      expect(url.hostname).to.equal("example.com");
    });

    it("refuses a name if any of its addresses is not public, without saying which", async () => {
      const check = guard([], { resolve: resolvesTo("8.8.8.8", "10.1.2.3") }).check("https://example.com/");
      const thrown = await thrownBy(() => check);
      expect(thrown).to.be.instanceOf(TargetRefused);
      expect((thrown as Error).message).to.equal("example.com has an address that is not public");
    });

    it("refuses a name that leads to the metadata of a platform", async () => {
      for (const address of [
        "168.63.129.16",
        "169.254.169.254",
        "100.100.100.200",
        "fd00:ec2::254",
        "::ffff:a83f:8110",
      ]) {
        const check = guard([], { resolve: resolvesTo(address) }).check("http://metadata.example/");
        expect(await thrownBy(() => check), address).to.be.instanceOf(TargetRefused);
      }
    });

    it("refuses the names of this machine", async () => {
      expect(await thrownBy(() => guard().check("http://localhost/"))).to.be.instanceOf(TargetRefused);
    });

    it("reports that a name does not resolve", async () => {
      const thrown = await thrownBy(() => guard().check("http://no-such-host.invalid/"));
      expect(thrown).to.not.be.instanceOf(TargetRefused);
      expect((thrown as NodeJS.ErrnoException).code).to.be.oneOf(["ENOTFOUND", "EAI_AGAIN"]);
      const nothing = await thrownBy(() => guard([], { resolve: resolvesTo() }).check("http://example.com/"));
      expect((nothing as NodeJS.ErrnoException).code).to.equal("ENOTFOUND");
    });
  });

  describe("while connecting", () => {
    let pages: PageServer;
    before(async () => {
      pages = await PageServer.start();
      pages.at("/", "hello");
    });
    after(() => pages.stop());

    // Node passes autoSelectFamily on to net.connect; it is missing from the types.
    type Options = http.RequestOptions & { autoSelectFamily?: boolean };
    const connect = async (by: AddressGuard, url: URL, options: Options = {}) => {
      const request = http.get(url, { agent: false, lookup: by.lookup(url), ...options });
      const [response] = await once(request, "response");
      response.resume();
      return response.statusCode;
    };

    it("connects to the addresses that were checked, whatever the name resolves to later", async () => {
      let asked = 0;
      const rebinding = guard([], {
        resolve: async () => [{ address: asked++ === 0 ? "8.8.8.8" : "127.0.0.1", family: 4 }],
      });
      const url = await rebinding.check(pages.url("/", "rebind.example"));
      expect(await thrownBy(() => connect(rebinding, url))).to.be.instanceOf(TargetRefused);
      expect(pages.asked).to.have.length(0);
    });

    it("gives Node one address or all, of the family it requests", async () => {
      const both = guard(["twice.example"], { resolve: resolvesTo("::1", "127.0.0.1") });
      const url = new URL(pages.url("/", "twice.example"));
      expect(await connect(both, url, { family: 4 })).to.equal(200);
      expect(await connect(both, url, { autoSelectFamily: false, family: 4 })).to.equal(200);
      expect(await connect(both, url, { autoSelectFamily: true })).to.equal(200);
      const onlyFour = guard(["twice.example"], { resolve: resolvesTo("127.0.0.1") });
      const thrown = await thrownBy(() => connect(onlyFour, url, { family: 6 }));
      expect((thrown as NodeJS.ErrnoException).code).to.equal("ENOTFOUND");
    });
  });

  describe("with an allow list", () => {
    it("admits its hosts, addresses and networks, and nothing else", async () => {
      const resolve = resolvesTo("10.9.9.9");
      const some = guard(["Files.Internal", "10.1.2.3", "192.168.0.0/24", "::1", "fd00::/8"], { resolve });
      for (const host of ["10.1.2.3", "192.168.0.77", "[::1]", "[fd12::1]", "0xa010203"]) {
        expect(() => some.admit(`http://${host}/`), host).to.not.throw();
      }
      for (const host of ["10.1.2.4", "192.168.1.1", "[fc00::1]", "[::ffff:10.1.2.3]"]) {
        expect(() => some.admit(`http://${host}/`), host).to.throw(TargetRefused);
      }
      await some.check("http://files.internal:8080/");
      await some.check("http://FILES.internal./");
      expect(await thrownBy(() => some.check("http://more.files.internal/"))).to.be.instanceOf(TargetRefused);
    });

    it("admits a name if each of its addresses is public or in its networks", async () => {
      const mixed = guard(["10.0.0.0/8"], { resolve: resolvesTo("10.1.1.1", "8.8.8.8") });
      await mixed.check("http://mixed.example/");
      const beside = guard(["10.0.0.0/8"], { resolve: resolvesTo("10.1.1.1", "192.168.1.1") });
      expect(await thrownBy(() => beside.check("http://mixed.example/"))).to.be.instanceOf(TargetRefused);
    });

    it("can be the only targets that are allowed without TLS", async () => {
      const strict = guard(["plain.example", "10.0.0.0/8"], { plainHttp: "listed", resolve: resolvesTo("8.8.8.8") });
      await strict.check("https://example.com/");
      await strict.check("http://plain.example/");
      strict.admit("http://10.1.1.1/");
      expect(() => strict.admit("http://8.8.8.8/")).to.throw(TargetRefused, "use https");
      expect(await thrownBy(() => strict.check("http://example.com/"))).to.be.instanceOf(TargetRefused);
    });

    it("is refused with the item that cannot be parsed", () => {
      for (const item of [
        "",
        "a b",
        "http://x",
        "10.0.0.0/33",
        "10/8",
        "::/129",
        "127.1",
        "x:80",
        "*.x",
        "a/b",
        "fe80::1%1",
      ]) {
        expect(() => parseAllowList(["ok.example", item]), item).to.throw(StartError, JSON.stringify(item));
      }
    });
  });
});
