import { expect } from "chai";
import type { Redis } from "ioredis";
import { PARTS } from "../../../src/extras/extras.ts";
import { libraryWith } from "../../../src/store/library/library.ts";
import { deferred } from "../../helpers/deferred.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

const OURS = libraryWith({ sharded: false, strictResultTtl: false, parts: [] });
const OLDER = "paihao_0123abcd";

/** A server with these libraries; `calls` has what it was asked. */
function serverWith(names: readonly string[], errors: { readonly [command: string]: string } = {}) {
  const calls: string[] = [];
  const server = {
    function: async (command: string, of: string) => {
      calls.push(command === "DELETE" ? `${command} ${of}` : command);
      const error = errors[command];
      if (error !== undefined) throw new Error(error);
      return command === "LIST" ? names.map((name) => ["engine", "LUA", "library_name", name]) : "OK";
    },
  };
  return { node: server as unknown as Redis, calls };
}

describe("the installation of the library on a server", () => {
  const install = async (...given: Parameters<typeof serverWith>) => {
    const { node, calls } = serverWith(...given);
    const { log, messages } = recordingLog();
    await OURS.install(node, [OLDER, "paihao_ffffffff"], log);
    return { calls, messages };
  };

  it("loads it where it is missing, and removes those that it is told to, and only those", async () => {
    const { calls, messages } = await install([OLDER, "paihao_eeeeeeee", `x${OLDER}`, `${OLDER}x`]);
    expect(calls).to.deep.equal(["LIST", "LOAD", `DELETE ${OLDER}`]);
    expect(messages).to.deep.equal([]);
    expect((await install([OURS.name])).calls).to.deep.equal(["LIST"]);
  });

  it("agrees with another process that was faster, with the load or with the removal", async () => {
    const faster = { LOAD: `ERR Library '${OURS.name}' already exists`, DELETE: "ERR Library not found" };
    const { calls, messages } = await install([OLDER, "paihao_ffffffff"], faster);
    expect(calls).to.deep.equal(["LIST", "LOAD", `DELETE ${OLDER}`, "DELETE paihao_ffffffff"]);
    expect(messages).to.deep.equal([]);
  });

  it("is left to the first call and the next start if the server refuses it", async () => {
    for (const command of ["LIST", "LOAD", "DELETE"]) {
      const { calls, messages } = await install([OLDER], { [command]: "NOPERM this user has no permissions" });
      expect(calls.at(-1)?.split(" ")[0]).to.equal(command);
      expect(messages).to.have.lengthOf(1);
    }
  });
});

describe("the load of the library", () => {
  it("is shared by concurrent callers of a connection, and repeated for later ones", async () => {
    const loaded = deferred<string>();
    let loads = 0;
    const node = {
      function: () => {
        loads += 1;
        return loaded.promise;
      },
    } as unknown as Redis;
    const both = Promise.all([OURS.load(node), OURS.load(node)]);
    expect(loads).to.equal(1);
    loaded.resolve("OK");
    await both;
    await OURS.load(node);
    expect(loads).to.equal(2);
  });

  it("fails with what the server answered, and is tried again by the next caller", async () => {
    const { node, calls } = serverWith([], { LOAD: "OOM command not allowed" });
    for (let n = 0; n < 2; n += 1) {
      const refused = await OURS.load(node).catch((error: Error) => error.message);
      expect(refused).to.equal("OOM command not allowed");
    }
    expect(calls).to.deep.equal(["LOAD", "LOAD"]);
  });
});

describe("a library", () => {
  it("is one for all connections with the same options, and another for others", () => {
    expect(libraryWith({ sharded: false, strictResultTtl: false, parts: [] })).to.equal(OURS);
    const options = [false, true].flatMap((sharded) =>
      [false, true].flatMap((strictResultTtl) => [[], PARTS].map((parts) => ({ sharded, strictResultTtl, parts }))),
    );
    expect(new Set(options.map((one) => libraryWith(one).name)).size).to.equal(8);
  });

  it("has no functions of a verb that does not exist", () => {
    expect(() => OURS.functionsOf("unheard")).to.throw("the library has no unheard");
  });
});
