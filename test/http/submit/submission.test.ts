import { expect } from "chai";
import type { Context } from "koa";
import type { Handler } from "../../../src/handler/define.ts";
import type { Api } from "../../../src/http/api.ts";
import { assembleSubmission, withWebhook } from "../../../src/http/submit/submission.ts";
import { openAccess } from "../../../src/http/task/access.ts";
import { createLog } from "../../../src/log.ts";
import { SUBMIT_DEFAULTS, type SubmitOptions } from "../../../src/wire/submit-options.ts";
import { recordingLog } from "../../helpers/recording-log.ts";

describe("the submission of a request", () => {
  const ctx = { ip: "192.0.2.7", state: { access: { ...openAccess(), caller: "ann" } } } as unknown as Context;
  const api = { log: createLog("silent") } as Api;
  const checked = { input: '{"n":1}', mediaType: "application/json", value: { n: 1 } };
  const given = {
    id: "a",
    identity: "i",
    trace: "t",
    original: { id: "o", queue: "jobs", createdMs: 1 },
    member: { group: "g", line: 2 },
  };
  const assemble = (handler: object, options: Partial<SubmitOptions> = {}, isMember = true) =>
    assembleSubmission(ctx, api, {
      ...{ ...given, member: isMember ? given.member : undefined },
      ...{ handler: { queue: "jobs", ...handler } as Handler, checked },
      options: { ...SUBMIT_DEFAULTS, ...options },
    });

  it("has what was sent, and who sent it", () => {
    expect(assemble({}, { query: { size: "1" } })).to.deep.equal({
      ...{ ...given, queue: "jobs", input: '{"n":1}', mediaType: "application/json", caller: "ann" },
      ...{ options: { ...SUBMIT_DEFAULTS, query: { size: "1" } }, share: undefined, key: undefined },
    });
  });

  it("has the line keys of its handler, which sees the task", () => {
    const seen: unknown[] = [];
    const by = (...of: unknown[]) => {
      seen.push(of);
      return "k";
    };
    const task = { id: "a", queue: "jobs", query: { size: "1" }, mediaType: "application/json", caller: "ann" };
    const options = { query: { size: "1" } };
    expect(assemble({ fair: { by } }, options)).to.deep.include({ share: { key: "k", weight: 1 }, key: undefined });
    expect(assemble({ keyed: { by } }, options)).to.deep.include({ share: undefined, key: "k" });
    expect(assemble({ limit: { by } }, options)).to.deep.include({ share: undefined, key: "k" });
    expect(seen).to.deep.equal(Array(3).fill([{ n: 1 }, task]));
  });

  it("says once in the log that a parameter is named almost like an option", () => {
    const { log, messages } = recordingLog();
    const assembleFor = (queue: string, query: Record<string, string>) =>
      assembleSubmission(ctx, telling, {
        ...given,
        ...{ handler: { queue } as Handler, checked, options: { ...SUBMIT_DEFAULTS, query } },
      });
    const telling = { log } as Api;
    for (const query of [{ delya: "5" }, { delya: "6" }, { size: "1" }]) assembleFor("jobs", query);
    expect(messages).to.have.lengthOf(1);
    expect(messages[0]).to.match(/the option of a similar name/);
    assembleFor("others", { delya: "5" });
    for (let n = 0; n < 200; n += 1) assembleFor(`q${n}`, { Delay: "5" });
    expect(messages, "bounded").to.have.lengthOf(100);
  });

  it("has the presence that it asks for, or else that of its handler unless its group has it", () => {
    const presenceOf = (ofHandler: number | undefined, asked: number | null, isMember = false) =>
      assemble({ presenceMs: ofHandler }, { presenceMs: asked }, isMember).options.presenceMs;
    expect(presenceOf(undefined, null)).to.equal(null);
    expect(presenceOf(undefined, 5000)).to.equal(5000);
    expect(presenceOf(9000, null)).to.equal(9000);
    expect(presenceOf(9000, 5000)).to.equal(5000);
    expect(presenceOf(9000, null, true)).to.equal(null);
  });
});

describe("the webhook of a submission", () => {
  /** What becomes of it, the URLs that were checked, and the tasks that were looked at. */
  const checkedOf = async (webhook: string | null, id?: string) => {
    const urls: string[] = [];
    const looks: unknown[] = [];
    const inspect = async (of: string, look: object) => {
      looks.push([of, look]);
      return of === "known" ? {} : null;
    };
    const api = {
      engine: { inspector: { inspect } },
      checkWebhook: async (url: string) => {
        urls.push(url);
        return `${url}checked`;
      },
    } as unknown as Api;
    const options = await withWebhook(api, { ...SUBMIT_DEFAULTS, delayMs: 7, webhook }, id);
    expect(options.delayMs).to.equal(7);
    return [options.webhook, urls, looks];
  };
  const URL = "https://hooks.example/";

  it("is checked, and stored in its canonical form", async () => {
    expect(await checkedOf(URL)).to.deep.equal([`${URL}checked`, [URL], []]);
    expect(await checkedOf(URL, "new")).to.deep.equal([`${URL}checked`, [URL], [["new", { result: false }]]]);
  });

  it("is not checked if there is none, or if the id is taken: then the submission changes nothing", async () => {
    expect(await checkedOf(null, "new")).to.deep.equal([null, [], []]);
    expect(await checkedOf(URL, "known")).to.deep.equal([URL, [], [["known", { result: false }]]]);
  });
});
