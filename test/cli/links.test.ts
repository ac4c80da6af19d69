import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { runCli } from "../helpers/cli.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";

/** Where nobody listens. */
const NOWHERE = { PAIHAO_URL: "http://127.0.0.1:1" };

describe("paihao with a link to a task", function () {
  this.timeout(60_000);
  const keys = testKeys({ owner: ["submit"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, URL_SIGNING_KEY: "a secret of at least 16 characters" });
  });
  after(() => server.stop());

  it("needs neither the address of the server nor a key, if the link is signed", async () => {
    const headers = keys.as("owner", { Prefer: "respond-async" });
    const { json } = await server.send("/v1/requests", { method: "POST", headers, body: 7 });
    const [result = "", page = ""] = ["self", "monitor"].map(
      (rel) => `${server.url}${json.links.find((link: { rel: string }) => link.rel === rel).href}`,
    );
    const outcomes = await Promise.all([
      runCli(["watch", page], { env: NOWHERE }),
      runCli(["status", page, "--json"], { env: NOWHERE }),
      runCli(["output", result], { env: NOWHERE }),
    ]);
    expect(outcomes.map(({ code }) => code)).to.deep.equal([0, 0, 0]);
    expect(JSON.parse(outcomes[0]?.stdout ?? "").input).to.equal(7);
    expect(JSON.parse(outcomes[1]?.stdout ?? "").id).to.equal(json.id);
    const [got, unsigned] = await Promise.all([
      runCli(["get", result], { env: NOWHERE }),
      runCli(["get", result.replace(/\?.*/, "")], { env: NOWHERE }),
    ]);
    expect(JSON.parse(got.stdout).input).to.equal(7);
    expect(unsigned.code).to.equal(5);
  });

  it("sends its key only to the server of --url", async () => {
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { "Content-Type": "application/json", "X-Task-State": "succeeded" }).end("1");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const env = { ...NOWHERE, PAIHAO_KEY: "secret" };
    await Promise.all([
      runCli(["get", `${url}/v1/requests/one`], { env, contract: false }),
      runCli(["get", "/v1/requests/one"], { env: { ...env, PAIHAO_URL: url }, contract: false }),
    ]);
    expect(seen).to.have.members([undefined, "Bearer secret"]);
    other.close();
  });
});
