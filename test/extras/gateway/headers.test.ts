import { expect } from "chai";
import { forwardedHeaders } from "../../../src/extras/gateway/headers.ts";
import { field, useGateways } from "./gateway.ts";

/** What proxies tell the servers behind them. */
const OF_PROXIES = `
  Client-Cert Client-Cert-Chain X-Client-Cert X-SSL-Client-Verify SSL-Client-S-Dn X-SSL-Cert X-Forwarded-User
  X-Forwarded-Client-Cert X-Forwarded-Tls-Client-Cert X-Forwarded-Groups X-Client-DN X-Auth-Request-User
  X-Auth-Request-Email X-Webauth-User X-Authenticated-Userid X-Authentik-Username Remote-User Remote-Groups X-Remote-User
  X-Remote-Group X-Remote-Extra-Scopes Impersonate-User Impersonate-Extra-Scopes Proxy Proxy-User X-ProxyUser-Ip
  WL-Proxy-Client-Cert X-Goog-Iap-Jwt-Assertion X-Goog-Authenticated-User-Email X-Endpoint-API-UserInfo X-Amzn-Oidc-Data
  X-Amzn-Oidc-Identity X-Amzn-Mtls-Clientcert-Subject X-Ms-Client-Principal X-Ms-Client-Principal-Id X-Ms-Original-Url
  X-Azure-SocketIP X-ARR-ClientCert Cf-Access-Jwt-Assertion Cf-Access-Authenticated-User-Email CF-Connecting-IP
  Fly-Client-IP X-Envoy-Peer-Metadata X-Envoy-Original-Path Tailscale-User-Login Tailscale-User-Name X-Consumer-Username
  X-Credential-Identifier X-Userinfo X-User-Id X-User X-Roles OIDC_CLAIM_sub X-Pomerium-Claim-Email iv-user SM_USER $WSRU
  X-Shib-Eppn X-Middleware-Subrequest X-ForwardedFor X-Forward-For Forwarded-For Http-X-Forwarded-For X-RemoteAddr X-Email
  X_Remote_User Remote.User x_forwarded_client_cert X-Http-Method-Override True-Client-Ip X-Real-Port`
  .trim()
  .split(/\s+/);
const SECRETS = `
  Authorization Cookie X-Api-Key Api-Key ApiKey X-ApiKey Api_Key X-Auth-Key X-Functions-Key Private-Token X-Gitlab-Token
  X-Vault-Token X-Consul-Token X-Amz-Security-Token X-Shopify-Access-Token X-Csrf-Token X-CSRFToken X-XSRF-TOKEN
  X-Auth-Token X-Access-Token X-Id-Token X-Ms-Token-Aad-Id-Token Ocp-Apim-Subscription-Key Dd-Application-Key X-Goog-Api-Key
  X-Secret Client-Secret X-Password X-Session-Id X-GitHub-OTP DPoP X-ZUMO-AUTH X-Serverless-Authorization X-Jwt-Assertion
  X-OAuth-Scopes`
  .trim()
  .split(/\s+/);
const ORDINARY = `
  Accept Accept-Language User-Agent X-User-Agent If-None-Match Range Referer X-Requested-With Idempotency-Key
  X-Partition-Key X-Hub-Signature-256 Stripe-Signature X-Amz-Date X-Ms-Version X-Author X-Authority X-Tenant X-Monkey
  X-Certainty-Level Content-MD5 Soapaction X-Remove Flying`
  .trim()
  .split(/\s+/);

/** Values by name, each of them found again wherever it is. */
const marked = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `mark-of-${name}`]));
const lines = (names: readonly string[]) => names.map((name) => `${name}: mark-of-${name}\r\n`).join("");

describe("the headers of a request through a gateway", () => {
  const t = useGateways(
    (port) => `export const rw = defineGateway({ queue: "rw", target: "http://127.0.0.1:${port}" });
       export const few = defineGateway({ queue: "few", target: "http://127.0.0.1:${port}",
         forward: ["X-Tenant", "api-key", "X-Auth-Request-User"] });`,
  );

  /** What the API got of a request with these headers, and what was stored of it by then. */
  async function sent(queue: string, path: string, fields: string) {
    let stored = "";
    t.upstream.answer(path, async (socket) => {
      const id = t.upstream.to(path).map((request) => field(request, "x-request-id"))[0];
      stored = JSON.stringify((await t.server.send(`/v1/requests/${id}/timeline`)).json.input);
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    const head = `GET /v1/gateway/${queue}${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n`;
    expect(await t.server.raw(`${head}${fields}\r\n`)).to.match(/^HTTP\/1.1 200 /);
    const [request] = t.upstream.to(path);
    expect(stored).to.contain(path);
    return { names: request?.fields.map(([name]) => name) ?? [], values: JSON.stringify(request), stored };
  }

  for (const [kind, names] of Object.entries({ "a proxy's": OF_PROXIES, secret: SECRETS })) {
    it(`are neither stored nor forwarded if they are ${kind}`, async () => {
      const { values, stored } = await sent("rw", `/${kind.slice(0, 1)}-withheld`, lines(names));
      for (const name of names) {
        expect(values, name).to.not.contain(`mark-of-${name}"`);
        expect(stored, name).to.not.contain(`mark-of-${name}`);
      }
    });
  }

  it("are forwarded otherwise", async () => {
    const { names } = await sent("rw", "/ordinary", lines(ORDINARY));
    expect(names).to.include.members(ORDINARY.map((name) => name.toLowerCase()));
  });

  it("are only those of `forward` if a gateway has it, those about the body, and the gateway's own", async () => {
    const others = [...ORDINARY, ...OF_PROXIES, ...SECRETS].filter(
      (name) => !["X-Tenant", "Api-Key", "Idempotency-Key", "X-Auth-Request-User"].includes(name),
    );
    const listed = ["X-Tenant", "Api-Key", "Idempotency-Key", "Content-Type", "X-Auth-Request-User"];
    const { names, stored } = await sent("few", "/listed", lines([...listed, ...others, "X_Auth_Request_User"]));
    expect([...names].sort()).to.deep.equal(
      [
        ...listed.map((name) => name.toLowerCase()),
        ...["host", "connection", "via", "x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"],
      ].sort(),
    );
    for (const name of others) expect(stored, name).to.not.contain(`mark-of-${name}`);
  });

  it("are matched in linear time", () => {
    const names = ["x-", "-", "auth", "x-auth-", "client-", "key-", "_"].map((part) => part.repeat(20_000));
    const started = performance.now();
    for (let n = 0; n < 5; n += 1) forwardedHeaders(marked(names));
    expect(performance.now() - started).to.be.below(5000);
  });
});
