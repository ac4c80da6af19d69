import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { parseJson } from "../../../src/http/request/body.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("an input that is made to be expensive", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const JSON_TYPE = { "Content-Type": "application/json" };
  const send = (body: string, queue = "default") => server.post(queue, body, JSON_TYPE);
  const MEGABYTE = 1_048_576;

  it("is refused as too deep before it is parsed, so that a megabyte of [ costs only its reading", async () => {
    const text = "[".repeat(MEGABYTE);
    const begun = process.cpuUsage();
    for (let i = 0; i < 5; i += 1) {
      const answer = await send(text);
      expect(answer.json).to.deep.include({
        type: "/problems/malformed-json",
        detail: "The body is nested deeper than 64 levels.",
      });
    }
    const { user } = process.cpuUsage(begun);
    // 5 s of work where it is parsed first.
    expect(user / 1e6).to.be.below(2);
  });

  it("is deep by its brackets, not counting those in strings", async () => {
    const brackets = JSON.stringify(`${"[".repeat(100)}\\" {{`);
    expect((await send(brackets)).json.input).to.equal(JSON.parse(brackets));
    expect((await send(`${"[[],".repeat(63)}[]${"]".repeat(63)}`)).status).to.equal(200);
    for (const text of [`["\\"${"[".repeat(3)}",${"[".repeat(64)}`, `${"{}]".repeat(40)}`, '"\\']) {
      expect((await send(text)).json.type, text).to.equal("/problems/malformed-json");
    }
  });

  it("has its first hundred errors reported, and the number of the others", async () => {
    const answer = await send(JSON.stringify({ width: 1, tags: Array(170_000).fill(false) }), "checked");
    expect(answer.status).to.equal(400);
    expect(answer.body.length).to.be.below(20_000);
    expect(answer.json.errors).to.have.length(100);
    expect(answer.json.errors[99].pointer).to.equal("#/tags/99");
    expect(answer.json.moreErrors).to.equal(170_000 - 100);
  });

  it("has fewer errors reported on each line of a batch", async () => {
    const line = JSON.stringify({ width: 1, tags: Array(150).fill(false) });
    const [{ problem }] = await server.batch("checked", line);
    expect([problem.errors.length, problem.moreErrors]).to.deep.equal([10, 140]);
  });
});

/** JSON for a worker's result, its output, or a prediction is no input that a schema of a handler describes: it is taken as it is. */
describe("JSON that has no schema", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ ROLE: "api", REPLICATE: "true", MAX_BODY: "8mb", MAX_OUTPUT: "8mb" });
  });
  after(() => server.stop());
  const send = (at: string, body: string) =>
    server.send(at, { method: "POST", body, headers: { "Content-Type": "application/json" } });
  const leased = async () => {
    const id = await server.enqueue("default", {});
    const taken = await server.send("/v1/queues/default/leases", { method: "POST", body: {} });
    return { id, fence: String(taken.json.items[0].fence) };
  };
  /** CPU that the request which carries the JSON has taken, µs. */
  let carried = 0;
  const carry = async (at: string, body: string) => {
    const begun = process.cpuUsage();
    const answer = await send(at, body);
    carried = process.cpuUsage(begun).user;
    return answer;
  };
  const routes: Record<string, (json: string) => Promise<string>> = {
    "the result of a worker over HTTP": async (json) => {
      const { id, fence } = await leased();
      expect((await carry(`/v1/leases/${id}/complete`, `{"fence":${fence},"result":${json}}`)).status).to.equal(200);
      return (await server.send(`/v1/requests/${id}`)).text;
    },
    "the output of a worker over HTTP": async (json) => {
      const { id, fence } = await leased();
      expect((await carry(`/v1/leases/${id}/output`, `{"fence":${fence},"data":[${json}]}`)).status).to.equal(204);
      const { text } = await server.send(`/v1/requests/${id}/output`, { headers: { Prefer: "wait=0" } });
      expect((await send(`/v1/leases/${id}/complete`, `{"fence":${fence}}`)).status).to.equal(200);
      return text.slice(text.indexOf('"data":') + '"data":'.length, text.lastIndexOf("}"));
    },
    "a prediction": async (json) => {
      const made = await carry("/replicate/v1/predictions", `{"version":"default","input":${json}}`);
      expect(made.status).to.equal(201);
      const [lease] = (await server.send("/v1/queues/default/leases", { method: "POST", body: {} })).json.items;
      await send(`/v1/leases/${lease.id}/complete`, `{"fence":${lease.fence}}`);
      return JSON.stringify(lease.input);
    },
  };
  for (const [name, through] of Object.entries(routes)) {
    it(`takes ${name} in about the time that parsing and writing it takes`, async () => {
      const deep = Array(20_000).fill("[".repeat(30) + "]".repeat(30));
      for (const json of [`[${deep}]`, `[${Array(500_000).fill("[]")}]`]) {
        let [own, whole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
        for (let n = 0; n < 3; n += 1) {
          const begun = process.cpuUsage();
          JSON.stringify(JSON.parse(json));
          own = Math.min(own, process.cpuUsage(begun).user);
          expect((await through(json)) === json).to.equal(true);
          whole = Math.min(whole, carried);
        }
        expect(whole / own).to.be.below(2.2);
      }
    });

    it(`keeps names with a meaning in JavaScript in ${name}`, async () => {
      const json = '{"__proto__":{"a":1},"constructor":[{"__proto__":null}]}';
      expect(await through(json)).to.equal(json);
    });
  }
});

describe("a number in an input", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const send = (body: string) => server.post("default", body, { "Content-Type": "application/json" });

  it("is 400 with a pointer if it is too large for a double", async () => {
    for (const number of ["1e400", "-1E+309", "9".repeat(310), `1${"0".repeat(400)}.5`]) {
      const answer = await send(`{"a":[0,{"b/c":${number}}]}`);
      expect(answer.status, number).to.equal(400);
      expect(answer.json.type).to.equal("/problems/invalid-input");
      expect(answer.json.errors).to.deep.equal([
        { pointer: "#/a/1/b~1c", detail: "the number is too large, expected one that fits a double" },
      ]);
    }
    expect((await send("1e999")).json.errors[0].pointer).to.equal("#");
    const [envelope] = await server.batch("default", '{"input":[1e400]}', "?envelope=true");
    expect(envelope.problem).to.include({ type: "/problems/invalid-input" });
  });

  it("costs little to find among millions that fit", () => {
    const text = `{"a":[${"1e1,".repeat(5_000_000)}1e400]}`;
    const begun = process.cpuUsage();
    expect(() => parseJson(text)).to.throw(ProblemError, /^#\/a\/5000000: /);
    // About 0.4 s; ten times as much with a list of all members.
    expect(process.cpuUsage(begun).user / 1e6).to.be.below(2);
  });

  it("is otherwise kept as it was sent", async () => {
    for (const number of ["1e308", "1e-400", "-0", "9007199254740993", "0.1e1", `0.${"1".repeat(400)}`]) {
      const answer = await send(`{"n":${number},"true":true,"s":"1e400"}`);
      expect(answer.status, number).to.equal(200);
      expect(answer.json.input.n, number).to.equal(Number(number));
    }
    // Half of a surrogate pair, escaped, is JSON too (RFC 8259 §8.2).
    expect((await send('"\\ud800"')).json.input).to.equal("\ud800");
  });
});
