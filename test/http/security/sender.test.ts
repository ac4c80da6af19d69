import { expect } from "chai";
import { networkOf } from "../../../src/http/security/sender.ts";

describe("where a request comes from", () => {
  it("is an address of IPv4, however it is written", () => {
    expect(networkOf("192.0.2.7")).to.equal("192.0.2.7");
    expect(networkOf("::ffff:192.0.2.7")).to.equal("192.0.2.7");
  });

  it("is a network of IPv6: one customer has all addresses of it", () => {
    expect(networkOf("2001:db8:1:2:3:4:5:6")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("2001:db8:1:2::1")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("::1")).to.equal("0:0:0:0::/64");
  });

  it("is unknown where a header says no address", () => {
    for (const text of ["", "unknown", "a b", "1.2.3", "{x}"]) expect(networkOf(text)).to.equal("unknown");
  });
});
