import { expect } from "chai";
import { networkOf } from "../../src/http/sender.ts";

describe("the sender of a request", () => {
  it("is an IPv4 address, however it is written", () => {
    expect(networkOf("192.0.2.7")).to.equal("192.0.2.7");
    expect(networkOf("::ffff:192.0.2.7")).to.equal("192.0.2.7");
  });

  it("is an IPv6 network (/64), since one customer has all of its addresses", () => {
    expect(networkOf("2001:db8:1:2:3:4:5:6")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("2001:db8:1:2::1")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("::1")).to.equal("0:0:0:0::/64");
  });

  it("is unknown if a header has no address", () => {
    for (const text of ["", "unknown", "a b", "1.2.3", "{x}"]) expect(networkOf(text)).to.equal("unknown");
  });
});
