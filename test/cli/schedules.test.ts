import { expect } from "chai";
import { runCli } from "../helpers/cli.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";

describe("paihao schedules", function () {
  this.timeout(60_000);
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const paihao = (...args: string[]) => runCli(["schedules", ...args], { env: { PAIHAO_URL: server.url } });

  it("makes a schedule, pauses and resumes it with all that was sent, lists it, and deletes it", async () => {
    const times = ["--cron", "0 3 * * *", "--time-zone", "Europe/Berlin", "--missed", "all", "--deadline", "5m"];
    const made = await paihao("set", "nightly", "default", '{"n":1}', ...times, "--json");
    const { next, ...shown } = JSON.parse(made.stdout);
    expect(shown).to.include({ id: "nightly", cron: "0 3 * * *", missed: "all", deadline: 300, paused: false });
    expect(next).to.have.length(5);
    expect((await paihao("pause", "nightly")).stderr).to.include("nightly is paused");
    expect((await paihao()).stdout).to.match(/^nightly\tdefault\t0 3 \* \* \* Europe\/Berlin\t\t\tpaused\n$/);
    expect((await paihao("resume", "nightly", "--json")).stdout).to.equal(made.stdout);
    const { stdout: id } = await paihao("run", "nightly");
    await server.until(id.trim(), "succeeded");
    expect((await paihao("history", "nightly")).stderr).to.equal("nightly has not been due yet\n");
    await paihao("set", "often", "default", '{"n":1}', "--every", "1s");
    const past = /^\S+(?: \S+)?\tsucceeded\toften~\d{8}T\d{6}Z$/m;
    await eventually(async () => past.test((await paihao("history", "often")).stdout));
    expect((await paihao("delete", "nightly")).code).to.equal(0);
    expect((await paihao("run", "nightly")).code, "unknown").to.equal(3);
    expect((await paihao("set", "x", "default", "--every", "soon")).code, "wrong").to.equal(2);
  });
});
