import { EventEmitter } from "node:events";
import { expect } from "chai";
import type { Redis } from "ioredis";
import type { Durability } from "../../src/config/variables.ts";
import { Confirmation, checkDurability, durabilityProblem } from "../../src/store/durability.ts";
import { deferred } from "../helpers/deferred.ts";
import { expectStartError } from "../helpers/start-error.ts";
import { eventually } from "../shared/eventually.ts";

type Reply = number | readonly number[];

/** A server whose answers the test gives. */
function paperServer({ replicas = 0, info = "" } = {}) {
  const asked: { readonly command: string; readonly answer: ReturnType<typeof deferred<Reply>> }[] = [];
  const ask = (command: string) => {
    const answer = deferred<Reply>();
    asked.push({ command, answer });
    return answer.promise;
  };
  const node = Object.assign(new EventEmitter(), {
    wait: (count: number) => ask(`WAIT ${count}`),
    call: (command: string, local: number, count: number) => ask(`${command} ${local} ${count}`),
    role: () => Promise.resolve(["master", 1, Array.from({ length: replicas }, () => [])]),
    info: () => Promise.resolve(info),
  });
  /** The nth command, once it has been sent. */
  const nth = async (n: number) => {
    if (asked[n] === undefined) await eventually(() => asked[n] !== undefined, 2000);
    return asked[n] ?? expect.fail("no such command");
  };
  return {
    node: node as unknown as Redis,
    asked,
    lose: () => node.emit("close"),
    /** Answers the nth command. @returns the command */
    answer: async (n: number, reply: Reply) => {
      const { command, answer } = await nth(n);
      answer.resolve(reply);
      return command;
    },
    refuse: async (n: number, error: string) => (await nth(n)).answer.reject(new Error(error)),
  };
}

const codeOf = (confirmed: Promise<boolean>) =>
  confirmed.then(
    (reached) => String(reached),
    (error: { code: string }) => error.code,
  );

describe("the confirmation of writes", () => {
  const confirmed = async (level: Durability, reply: Reply, replicas = 0) => {
    const server = paperServer({ replicas });
    const reached = new Confirmation(level).confirm(server.node);
    return [await server.answer(0, reply), await reached];
  };

  it("asks for what the level means, and judges by the answer", async () => {
    expect(await confirmed("replica", 1)).to.deep.equal(["WAIT 1", true]);
    expect(await confirmed("replica", 0)).to.deep.equal(["WAIT 1", false]);
    expect(await confirmed("replicas", 2, 2)).to.deep.equal(["WAIT 2", true]);
    expect(await confirmed("replicas", 1, 2)).to.deep.equal(["WAIT 2", false]);
    expect(await confirmed("fsync", [1, 0])).to.deep.equal(["WAITAOF 1 0", true]);
    expect(await confirmed("fsync", [0, 3])).to.deep.equal(["WAITAOF 1 0", false]);
  });

  it("asks nothing if memory is enough, or if there is no replica to ask", async () => {
    const server = paperServer();
    expect(await new Confirmation("memory").confirm(server.node)).to.equal(true);
    expect(await new Confirmation("replicas").confirm(server.node)).to.equal(false);
    expect(server.asked).to.deep.equal([]);
  });

  it("is shared by all calls that arrive while another one is under way", async () => {
    const server = paperServer();
    const confirmation = new Confirmation("replica");
    const first = confirmation.confirm(server.node);
    const others = [1, 2, 3].map(() => confirmation.confirm(server.node));
    expect(server.asked).to.have.lengthOf(1);
    await server.answer(0, 1);
    expect(await first).to.equal(true);
    await server.answer(1, 0);
    expect(await Promise.all(others)).to.deep.equal([false, false, false]);
    const late = confirmation.confirm(server.node);
    await server.answer(2, 1);
    expect(await late).to.equal(true);
    expect(server.asked).to.have.lengthOf(3);
  });

  it("is asked for again after one that failed", async () => {
    const server = paperServer();
    const confirmation = new Confirmation("replica");
    const codes = [1, 2].map(() => codeOf(confirmation.confirm(server.node)));
    await server.refuse(0, "Command timed out");
    await server.answer(1, 1);
    expect(await Promise.all(codes)).to.deep.equal(["store-unavailable", "true"]);
  });

  it("does not count if the connection was lost in between, since it may lead to another server now", async () => {
    const server = paperServer();
    const confirmation = new Confirmation("replica");
    const codes = [1, 2].map(() => codeOf(confirmation.confirm(server.node)));
    server.lose();
    await server.answer(0, 1);
    const after = codeOf(confirmation.confirm(server.node));
    await server.answer(1, 1);
    expect(await Promise.all([...codes, after])).to.deep.equal(["store-unavailable", "store-unavailable", "true"]);
  });
});

describe("the durability that a server can provide", () => {
  const check = (version: string, level: Durability, info = "aof_enabled:1") =>
    checkDurability(paperServer({ info }).node, level, version);

  it("includes that of the disk from version 7.2 on, with an append-only file", async () => {
    for (const version of ["7.2.0", "7.10.1", "8.0.0", "10.1.0"]) await check(version, "fsync");
    for (const version of ["6.9.9", "7.0.15", "7.1.0"])
      await expectStartError(check(version, "fsync"), `the store has version ${version}`);
    await expectStartError(check("7.2.0", "fsync", "aof_enabled:0"), "no append-only file");
  });

  it("is not checked for a level that needs neither", async () => {
    for (const level of ["memory", "replica", "replicas"] as const) await check("7.0.0", level, "aof_enabled:0");
  });

  const problem = (level: Durability, ...info: string[]) =>
    durabilityProblem(paperServer({ info: info.join("\r\n") }).node, level);

  it("is missing without a replica that keeps up, if the level needs one", async () => {
    for (const level of ["replica", "replicas"] as const) {
      expect(await problem(level, "slave0:ip=127.0.0.1,port=1,state=online,offset=1,lag=1")).to.equal(undefined);
      expect(await problem(level, "slave0:ip=127.0.0.1,port=1,state=wait_bgsave,offset=1,lag=1")).to.contain(
        "no replica",
      );
      expect(await problem(level, "connected_slaves:0")).to.match(
        new RegExp(`^DURABILITY is ${level}, but .* no replica`),
      );
    }
    expect(await problem("memory", "connected_slaves:0")).to.equal(undefined);
  });

  it("is missing without an append-only file that can be written, if the level needs it", async () => {
    expect(await problem("fsync", "aof_enabled:1", "aof_last_write_status:ok")).to.equal(undefined);
    expect(await problem("fsync", "aof_enabled:1", "aof_last_write_status:err")).to.contain("cannot write");
    expect(await problem("fsync", "aof_enabled:0", "aof_last_write_status:ok")).to.contain("no append-only file");
  });
});
