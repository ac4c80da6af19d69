import { expect } from "chai";
import type { Context } from "koa";
import type { Submission } from "../../../src/engine/tasks/submission.ts";
import type { Handler } from "../../../src/handler/define.ts";
import type { Api } from "../../../src/http/api.ts";
import { assembleSubmission } from "../../../src/http/submit/submission.ts";
import { send } from "../../../src/http/submit/submit.ts";
import { SUBMIT_DEFAULTS } from "../../../src/wire/submission.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

describe("the submission of a request", () => {
  const ctx = { ip: "192.0.2.7", state: {} } as unknown as Context;
  const checked = { input: "1", mediaType: "application/json", value: 1 };
  const given = { id: "a", identity: "i", checked };

  it("says once in the log that a parameter is named almost like an option", () => {
    const { log, messages } = recordingLog();
    const api = { log } as Api;
    const assembleFor = (queue: string, query: Record<string, string>) =>
      assembleSubmission(ctx, api, {
        ...{ ...given, handler: { queue } as Handler, options: { ...SUBMIT_DEFAULTS, query } },
      });
    for (const query of [{ delya: "5" }, { delya: "6" }, { size: "1" }]) assembleFor("jobs", query);
    expect(messages).to.have.lengthOf(1);
    expect(messages[0]).to.match(/the option of a similar name/);
    assembleFor("others", { delya: "5" });
    for (let n = 0; n < 200; n += 1) assembleFor(`q${n}`, { Delay: "5" });
    expect(messages, "bounded").to.have.lengthOf(100);
  });

  it("has the presence of its handler, unless its group has one", () => {
    const handler = { queue: "jobs", presenceMs: 9000 } as Handler;
    const presenceOf = (member?: { group: string; line: number }) =>
      assembleSubmission(ctx, {} as Api, { ...given, handler, options: SUBMIT_DEFAULTS, member }).options.presenceMs;
    expect([presenceOf(), presenceOf({ group: "g", line: 2 })]).to.deep.equal([9000, null]);
  });

  it("that runs a task again is accepted although that cannot be noted there, which is logged", async () => {
    const { log, messages } = recordingLog();
    const engine = {
      queues: { settings: () => ({}) },
      submitter: { submit: async () => ({ verdict: "new" }) },
      call: () => Promise.reject(new Error("refused")),
    };
    const options = { dryRun: false };
    const submission = {
      id: "a",
      queue: "jobs",
      original: { id: "o", createdMs: 1 },
      options,
    } as unknown as Submission;
    const sender = { headers: {} } as unknown as Context;
    expect(await send(sender, { engine, log } as unknown as Api, submission, true)).to.deep.equal({ verdict: "new" });
    expect(messages).to.have.length(1);
  });
});
