import { expect } from "chai";
import type { PaihaoError } from "paihao/client";
import { eventually } from "../shared/eventually.ts";
import { proxiedClient } from "./proxied-client.ts";

describe("a group that the client submits", () => {
  const to = proxiedClient();

  /** The results of a group in the order of submission, once all of its tasks have ended. */
  const resultsOf = async (id: string) => {
    await eventually(async () => (await stateOf(id)).state === "done");
    const lines = await (await to.client.request(`/v1/groups/${id}/results`)).text();
    return lines
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { state: string; data: { greeting: string } });
  };
  const stateOf = async (id: string) =>
    (await (await to.client.request(`/v1/groups/${id}`)).json()) as { state: string };

  it("has each input once, in order, although answers are lost, and is closed", async () => {
    const names = Array.from({ length: 700 }, (_, n) => (n === 600 ? "" : `n${n}`));
    let batches = 0;
    to.proxy.treat(({ url }) => {
      if (!url.includes("/batches")) return "pass";
      batches += 1;
      if (batches === 1) return "lose";
      if (batches === 2) return "break";
      // The answers to the second part and to the close.
      return batches < 6 && !url.includes("open=true") ? "lose" : "pass";
    });
    const inputs = names.map((name) => ({ name }));
    const { id, refused } = await to.client.group("greet", inputs);
    expect(refused.map(({ line }) => line)).to.deep.equal([600]);
    const results = await resultsOf(id);
    expect(results.map(({ data }) => data.greeting)).to.deep.equal(
      names.filter(Boolean).map((name) => `Hello, ${name}`),
    );
    expect(await stateOf(id)).to.include({ state: "done", total: 699, succeeded: 699 });
    expect(batches).to.be.above(4);
  });

  it("is not made of nothing", async () => {
    const error = await to.client.group("greet", [], { id: "none" }).catch((thrown: PaihaoError) => thrown);
    expect(error).to.include({ code: "invalid-input" });
  });

  it("is refused under the id of a closed one", async () => {
    await to.client.group("greet", [{ name: "Ada" }], { id: "taken" });
    const error = await to.client
      .group("greet", [{ name: "Bob" }], { id: "taken" })
      .catch((thrown: PaihaoError) => thrown);
    expect(error).to.include({ code: "id-conflict" });
  });
});
