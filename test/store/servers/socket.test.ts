import { chmod, chown, mkdir, mkdtemp, readdir, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { makeSocket, removeSocket } from "../../../src/store/servers/socket.ts";
import { expectStartError } from "../../helpers/start-error.ts";

describe("the socket of a store", () => {
  const given = process.env.TMPDIR;
  let dir: string;

  beforeEach(async () => {
    dir = await realpath(await mkdtemp(path.join(tmpdir(), "paihao-socket-")));
    process.env.TMPDIR = dir;
  });
  afterEach(async () => {
    if (given === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = given;
    await rm(dir, { recursive: true });
  });

  it("is in a folder of its own that only its user can enter, and is removed with it", async () => {
    await chmod(dir, 0o1777);
    const [one, other] = [await makeSocket(), await makeSocket()];
    expect(path.dirname(one)).not.to.equal(path.dirname(other));
    expect((await stat(path.dirname(one))).mode & 0o777).to.equal(0o700);
    for (const socket of [one, other, other]) removeSocket(socket);
    expect(await readdir(dir)).to.deep.equal([]);
  });

  it("follows a link to its current target", async () => {
    const link = path.join(dir, "link");
    await mkdir(path.join(dir, "real"));
    await symlink(path.join(dir, "real"), link);
    process.env.TMPDIR = link;
    expect(path.dirname(path.dirname(await makeSocket()))).to.equal(path.join(dir, "real"));
  });

  it("is not made where others can replace its folder", async () => {
    await chmod(dir, 0o777);
    const message = await expectStartError(makeSocket(), "other users can replace files in it");
    expect(message).to.contain(dir).and.to.contain("set TMPDIR to another directory");
    expect(await readdir(dir)).to.deep.equal([]);
  });

  it("is not made in a directory of another user", async function () {
    if (process.getuid?.() !== 0) return this.skip();
    await chown(dir, 12_345, 12_345);
    await expectStartError(makeSocket(), "other users can replace files in it");
  });

  it("is not made where its path would be cut off", async () => {
    process.env.TMPDIR = path.join(dir, "long".repeat(25));
    await mkdir(process.env.TMPDIR);
    await expectStartError(makeSocket(), "its path is too long for a socket");
  });

  it("is not made in a directory that does not exist", async () => {
    process.env.TMPDIR = path.join(dir, "none");
    await expectStartError(makeSocket(), /cannot make a socket for the store in .*none: ENOENT/);
  });
});
