import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { checkTarget, TARGET_DEFAULTS } from "../../../src/extras/webhooks/target.ts";
import { AddressGuard, parseAllowList, type Resolve } from "../../../src/net/ssrf-guard.ts";

const PUBLIC = "93.184.215.14";
const to =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
const guardOf = (resolve: Resolve = to(PUBLIC), allow: string[] = []) =>
  new AddressGuard(parseAllowList(allow), { plainHttp: "listed", resolve });

/** Why it is refused. */
async function refusal(url: string, guard = guardOf()): Promise<string> {
  const error = await checkTarget(url, guard).then(
    (href) => expect.fail(`${href} was taken`),
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(ProblemError);
  const { code, extensions, message } = error as ProblemError;
  expect([code, extensions]).to.deep.equal(["invalid-parameter", { parameter: "webhook" }]);
  return message;
}

describe("the URL of a webhook, when a task is submitted", () => {
  it("can be https to a public host, and is stored in canonical form", async () => {
    expect(await checkTarget("https://Hooks.Example:8443/a b?c=d", guardOf())).to.equal(
      "https://hooks.example:8443/a%20b?c=d",
    );
    expect(await checkTarget(`https://${PUBLIC}/`, guardOf())).to.equal(`https://${PUBLIC}/`);
  });

  it("can have 2048 characters, also in canonical form", async () => {
    const url = (length: number) => "https://hooks.example/".padEnd(length, "x");
    expect(await checkTarget(url(TARGET_DEFAULTS.length), guardOf())).to.have.length(TARGET_DEFAULTS.length);
    expect(await refusal(url(TARGET_DEFAULTS.length + 1))).to.match(/longer than 2048/);
    expect(await refusal(`https://hooks.example/${"排".repeat(300)}`)).to.match(/longer than 2048/);
  });

  it("must have a name that resolves; if that takes too long, it can be submitted again later", async () => {
    const missing: Resolve = async () => {
      throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
    };
    expect(await refusal("https://hooks.example/", guardOf(missing))).to.match(/does not resolve \(ENOTFOUND\)/);
    expect(await refusal("https://hooks.example/", guardOf(to()))).to.match(/does not resolve/);
    const never: Resolve = () => new Promise(() => undefined);
    const late = await checkTarget("https://hooks.example/", guardOf(never), 5).catch((error: unknown) => error);
    expect(late).to.include({ code: "resolver-unavailable", status: 503 });
    expect((late as ProblemError).message).to.match(/does not resolve within 5 ms/);
  });
});
