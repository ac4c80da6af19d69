import { expect } from "chai";
import type { Context } from "koa";
import type { Submission } from "../../../src/engine/submission/submission.ts";
import type { Api } from "../../../src/http/api.ts";
import { send } from "../../../src/http/submit/submission.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const CTX = { headers: { traceparent: PARENT } } as unknown as Context;

/** Tracing whose spans have this trace. */
const tracing = (own: string) => ({ send: (_of: unknown, submit: (trace: string) => Promise<unknown>) => submit(own) });

const ORIGINAL = { id: "o", createdMs: 1 };

describe("a submission that is sent", () => {
  /** Sends one; returns what comes of it. */
  const sent = async ({
    original,
    dryRun = false,
    verdict = "new",
    fails = false,
    tracing,
  }: Partial<Record<string, unknown>> = {}) => {
    const submitted: unknown[] = [];
    const noted: unknown[] = [];
    const { log, messages } = recordingLog();
    const engine = {
      queues: { settings: (queue: string) => `settings of ${queue}` },
      submitter: {
        submit: async (of: Submission, ...more: unknown[]) => {
          submitted.push([of.id, ...more]);
          return { verdict };
        },
      },
      call: async (_: string, { again, ...of }: { again: string }) => {
        noted.push([of, again]);
        if (fails) throw new Error("refused");
      },
    };
    const submission = { id: "a", queue: "jobs", original, options: { dryRun } } as unknown as Submission;
    const answer: unknown = await send(CTX, { engine, log, tracing } as unknown as Api, submission, true);
    return { answer, submitted, noted, messages };
  };

  it("goes to its queue with the trace of its span, or that of its sender where none is traced or it is only tried", async () => {
    const { answer, submitted, noted } = await sent();
    expect(submitted).to.deep.equal([["a", "settings of jobs", true, PARENT]]);
    expect([answer, noted]).to.deep.equal([{ verdict: "new" }, []]);
    const traced = async (of: Partial<Record<string, unknown>>) =>
      (await sent({ tracing: tracing("own"), ...of })).submitted;
    expect(await traced({})).to.deep.equal([["a", "settings of jobs", true, "own"]]);
    expect(await traced({ dryRun: true })).to.deep.equal([["a", "settings of jobs", true, PARENT]]);
  });

  it("is stored although that cannot be noted, which is logged", async () => {
    const { answer, messages } = await sent({ original: ORIGINAL, fails: true });
    expect(answer).to.deep.equal({ verdict: "new" });
    expect(messages).to.have.length(1);
  });
});
