import type { Context } from "koa";
import { choice, flag, text, whole } from "../../wire/request.ts";

const NOTHING = new URLSearchParams();

/** The query of a request. Not `ctx.URL`, which is empty if the Host header is invalid. */
export function searchOf(ctx: Context): URLSearchParams {
  const { querystring } = ctx;
  return querystring === "" ? NOTHING : new URLSearchParams(querystring);
}

/** `true`, or the id of a group: no other spelling of a word that asks for a group or for none. */
const GROUP_FORM = /^(?:true|(?!(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$)[A-Za-z0-9][A-Za-z0-9._~-]{0,127})$/;

/** The query parameters of all resources but those of submissions (wire/submission.ts) and filters (wire/list-filter.ts). */
export const PARAMETERS = {
  turn: text("turn", "The `fence` of the turn that is over: a turn with another is left alone.", {
    form: /^\d{1,20}$/,
    expected: "the fence of a turn",
  }),
  after: whole("after", "Continue after the value with this `seq`."),
  pending: choice("pending", "Status of the response while there is no result yet; default PENDING_STATUS.", [
    "202",
    "404",
  ]),
  raw: flag("raw", "A browser, too, gets the result itself, not the page of its task."),
  onComplete: choice("onComplete", "Once the task has ended: 303 to the result, or the result itself.", [
    "redirect",
    "stream",
  ]),
  onPending: choice(
    "onPending",
    "`synchronous`: wait until the task has ended.",
    ["accepted", "synchronous"],
    "accepted",
  ),
  embed: flag("embed", "The HTML page is a small one without a script, which pages of EMBED_ORIGINS may frame."),
  envelope: flag(
    "envelope",
    "Each line is an envelope with id, input, and options such as priority and delay, not a bare input.",
  ),
  group: text(
    "group",
    "`true`: the tasks of the batch become a group; or the id of a group, which is opened with it or is still open.",
    {
      form: GROUP_FORM,
      expected:
        "true, or another id than true or false of 1–128 characters A–Z a–z 0–9 . _ ~ -, the first a letter or digit",
    },
  ),
  open: flag("open", "The group takes further batches after this one."),
  follow: flag("follow", "Then send each as it ends, until all tasks of the group have ended."),
  afterLine: whole("after", "Go on behind this many lines of the answer."),
  limit: whole("limit", "Maximum number of items.", { minimum: 1, maximum: 200 }, 50),
  deadOrder: choice(
    "order",
    "Which come first: the tasks that died last, or those that died first.",
    ["newest", "oldest"],
    "oldest",
  ),
  minutes: whole("minutes", "How many minutes back: up to a week.", { minimum: 1, maximum: 7 * 1440 }, 60),
  step: whole(
    "step",
    "Seconds covered by each value; default 60 for all queues, 10 for one queue. Beyond an hour a multiple of 300, its default, and beyond a day of 3600.",
    {
      ...{ minimum: 10, maximum: 86_400, multipleOf: 10 },
    },
  ),
  afterTime: whole("after", "Only intervals that ended later, in seconds since the epoch."),
} as const;
