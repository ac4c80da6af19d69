import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { settingsOf } from "../../../src/engine/settings.ts";
import { type Item, itemOf, nameOf } from "../../../src/engine/tasks/submission.ts";
import { defineHandler } from "../../../src/handler/define.ts";
import { INLINE_BYTES } from "../../../src/store/fields.ts";
import { type GivenSubmission, submissionOf } from "../../shared/submission.ts";

const settings = {
  ...settingsOf(defineHandler({ queue: "jobs", run: () => undefined }), readConfig({})),
  maxWaiting: 10,
};
const stored = (given: GivenSubmission = {}, over: Partial<typeof settings> = {}): Item =>
  itemOf(submissionOf("a", "jobs", "1", given), { ...settings, ...over });

describe("a submission on its way to the store", () => {
  it("has a weight within bounds; what is no positive number counts as 1", () => {
    const weights = [0.5, 1000, 1001, 0.001, 0.0009, 0, -2, Number.NaN, Number.POSITIVE_INFINITY];
    const shares = weights.map((weight) => stored({ share: { key: "ann", weight } }).share);
    const expected = [0.5, 1000, 1000, 0.001, 0.001, 1, 1, 1, 1];
    expect(shares).to.deep.equal(expected.map((weight) => `${weight} =ann`));
    expect(stored().share).to.equal(undefined);
  });

  it("has a digest in place of a key of 36 bytes or more", () => {
    expect(nameOf("k".repeat(35))).to.equal(`=${"k".repeat(35)}`);
    const long = ["k".repeat(36), "ü".repeat(18), "k".repeat(37)].map(nameOf);
    for (const name of long) expect(name).to.match(/^#[0-9a-f]{32}$/);
    expect(new Set(long).size).to.equal(3);
  });

  it("says how many tasks of its key may run and wait, whether or not it has a key", () => {
    const keys = (over: Partial<typeof settings>) => ["ann", null, undefined].map((key) => stored({ key }, over).key);
    expect(keys({})).to.deep.equal(["1 =ann", "1", undefined]);
    expect(keys({ keyedConcurrency: 3, keyedWaiting: 7 })).to.deep.equal(["3/7 =ann", "3/7", undefined]);
    expect(keys({ keyedWaiting: Number.POSITIVE_INFINITY })).to.deep.equal(["1 =ann", "1", undefined]);
  });

  it("has a digest of its input if that is too long for the hash, or of what identifies it", () => {
    const digest = (input: string | Buffer, identity?: string) => stored({ input, identity }).digest;
    const short = "ü".repeat(INLINE_BYTES / 2);
    expect(digest(short)).to.equal("");
    expect(digest(Buffer.from(short))).to.equal("");
    const long = digest(`${short}.`);
    expect(long).to.match(/^[0-9a-f]{32}$/);
    expect(digest(Buffer.from(`${short}.`))).to.equal(long);
    expect(digest(`${short},`)).not.to.equal(long);
    expect(digest("1", `${short}.`)).to.equal(long);
  });

  it("has no media type if it is JSON, and no query if that is empty", () => {
    expect(stored()).to.include({ mediaType: "", query: "", caller: "" });
    const other = stored({ mediaType: "text/csv", query: { page: "2" }, caller: "ann" });
    expect(other).to.include({ mediaType: "text/csv", query: '{"page":"2"}', caller: "ann" });
  });

  it("has the limit of its queue, and may be a member of a group", () => {
    expect(stored({ member: { group: "g", line: 0 } })).to.include({ limit: 10, group: "g", line: "0" });
  });
});
