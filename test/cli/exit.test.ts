import { expect } from "chai";
import { CommanderError } from "commander";
import { CommandError, EXIT, type ExitCode, failureOf, wrongUsage } from "../../src/cli/exit.ts";
import { errorOf, PaihaoError } from "../../src/client/problem.ts";
import { type ErrorCode, errorEntries, StartError } from "../../src/errors.ts";

/** The exit code of each problem of a server; of those that are left out it is 6. */
const CODES: Partial<Record<ErrorCode, ExitCode>> = {
  "malformed-json": 2,
  "invalid-input": 2,
  "invalid-parameter": 2,
  "payload-too-large": 2,
  "uri-too-long": 2,
  "unsupported-media-type": 2,
  unknown: 3,
  "unknown-queue": 3,
  "not-found": 3,
  canceled: 3,
  expired: 3,
  deleted: 3,
  unauthenticated: 5,
  forbidden: 5,
  "wrong-host": 5,
  "store-unavailable": 4,
};

const problemOf = (code: string, status: number, more: object = {}) => ({
  type: `/problems/${code}`,
  title: "A title",
  status,
  ...more,
});

describe("the exit code and message of an error", () => {
  it("are those of each problem that a server may answer", () => {
    for (const { code, status } of errorEntries) {
      const { exitCode, message } = failureOf(errorOf(problemOf(code, status)));
      expect(exitCode, code).to.equal(CODES[code] ?? EXIT.refused);
      expect(message, code).to.match(/^A title/);
    }
  });

  it("are 6 and its title for a problem that no server of ours has", () => {
    for (const code of ["constructor", "__proto__", "toString", "other"]) {
      expect(failureOf(errorOf(problemOf(code, 400)))).to.deep.equal({ exitCode: 6, message: "A title" });
    }
  });

  it("are 1 for a task that failed, whatever its problem, and 3 for one that was canceled", () => {
    for (const status of [400, 404, 409, 503]) {
      const own = { type: "https://example.com/busy", title: "Busy", status, detail: "later" };
      expect(failureOf(errorOf({ ...own, state: "failed" }))).to.deep.equal({ exitCode: 1, message: "Busy: later" });
    }
    const late = errorOf(problemOf("canceled", 410, { reason: "deadline" }));
    expect(failureOf(late)).to.deep.equal({ exitCode: 3, message: "A title: its deadline has passed" });
    const left = errorOf(problemOf("canceled", 410, { reason: "abandoned" }));
    expect(failureOf(left)).to.deep.equal({ exitCode: 3, message: "A title: nobody looked at it" });
  });

  it("repeat nothing, and say what to do", () => {
    const fields = [{ pointer: "#/width", detail: "too small" }];
    const invalid = problemOf("invalid-input", 400, { detail: "#/width: too small", errors: fields });
    expect(failureOf(errorOf(invalid)).message).to.equal("A title: #/width: too small");
    const full = errorOf(problemOf("queue-full", 503, { detail: "A title" }), { retryAfter: 90 });
    expect(failureOf(full)).to.deep.equal({ exitCode: 6, message: "A title (try again in 2 min)" });
    expect(failureOf(errorOf(problemOf("unauthenticated", 401))).message).to.include("--key or PAIHAO_KEY");
    expect(failureOf(new PaihaoError("unreachable", problemOf("other", 0)))).to.include({ exitCode: 4 });
  });

  it("are those that the commands choose themselves, and 1 for what keeps the server from starting", () => {
    expect(failureOf(wrongUsage("no id"))).to.deep.equal({ exitCode: 2, message: "no id" });
    expect(failureOf(new CommandError(EXIT.timeout, "late"))).to.deep.equal({ exitCode: 124, message: "late" });
    expect(failureOf(new StartError("no store"))).to.deep.equal({ exitCode: 1, message: "no store" });
  });

  it("are left to the command-line library if it has printed a message", () => {
    const help = new CommanderError(0, "commander.helpDisplayed", "(outputHelp)");
    expect(failureOf(help)).to.deep.equal({ exitCode: 0, message: undefined });
    expect(failureOf(new CommanderError(1, "commander.unknownOption", "x")).exitCode).to.equal(2);
  });

  it("are not made up for a defect of the command", () => {
    const defect = new TypeError("undefined is not a function");
    expect(() => failureOf(defect)).to.throw(defect);
  });
});
