import { expect } from "chai";
import { misspeltVariables } from "../../src/config/config.ts";

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
