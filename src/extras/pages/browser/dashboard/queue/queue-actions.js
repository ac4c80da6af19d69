/** The actions on a queue, and its badges. */

import { html } from "../../preact.js";
import { ask } from "../api.js";
import { moment } from "../parts/format.js";

/** @typedef {import("../api.js").Queue} Queue */

/** What pauses a queue, or lets it go on; null if the key may not. @param {Queue} queue @param {import("../desk.js").Desk} desk */
export function pauseOf({ name, paused, actions }, desk) {
  const action = paused ? "resume" : "pause";
  if (!actions.includes(action)) return null;
  const act = () =>
    desk.act(async () => {
      await ask(`/v1/queues/${encodeURIComponent(name)}/${action}`, { method: "POST" });
      return paused ? `${name} is running again.` : `${name} is paused: no task starts.`;
    });
  return { verb: paused ? "Resume" : "Pause", act };
}

/**
 * @param {Queue} queue
 * @param {import("../desk.js").Desk} desk
 * @param {string | null} [kind]
 */
export function pauseButton(queue, desk, kind = null) {
  const pause = pauseOf(queue, desk);
  if (!pause) return null;
  const { verb, act } = pause;
  return html`<button type="button" class=${kind} onClick=${act} aria-label="${verb} ${queue.name}">${verb}</button>`;
}

/**
 * Changes how many tasks run at a time, and may start.
 * @param {Queue} queue
 * @param {import("../desk.js").Desk} desk
 */
export function adjustButtons({ name, actions, turns, settings }, desk) {
  const { concurrency } = settings;
  if (!actions.includes("adjust")) return null;
  /** @param {object} json @param {string} done */
  const send = async (json, done) => {
    await ask(`/v1/queues/${encodeURIComponent(name)}`, { method: "PATCH", json });
    return done;
  };
  const adjust = () =>
    desk.act(async () => {
      const answer = await desk.ask(settingsQuestion(settings, turns));
      if (answer === null) return null;
      const fields = ["concurrency", "total", "max", "per"].map((field) => String(answer.get(field) ?? "").trim());
      const [each, total, max, per] = fields;
      const json = {
        concurrency: {
          ...(concurrency.declared !== null && { each: each ? Number(each) : null }),
          total: total ? Number(total) : null,
        },
        rate: max ? { max: Number(max), per: per || "1s" } : null,
      };
      return await send(json, `The settings of ${name} are changed.`);
    });
  const reset = () =>
    desk.act(() =>
      send(
        { rate: null, concurrency: { total: null, ...(concurrency.declared !== null && { each: null }) } },
        `${name} runs as it was declared.`,
      ),
    );
  return html`
    <button type="button" onClick=${adjust}>Settings</button>
    ${isAdjusted(settings) && html`<button type="button" onClick=${reset}>As declared</button>`}`;
}

/** Whether an operator has set it. @param {{ declared: unknown, now: unknown }} setting */
const isSet = ({ declared, now }) => JSON.stringify(declared) !== JSON.stringify(now);

/** @param {Queue["settings"]} settings */
const isAdjusted = ({ concurrency, total, rate }) => [concurrency, total, rate].some(isSet);

/**
 * @param {Queue["settings"]} settings
 * @param {Queue["turns"]} turns
 * @returns {import("../parts/dialog.js").Question}
 */
const settingsQuestion = ({ concurrency, total, rate }, turns) => ({
  title: "Settings of this queue",
  body: html`
    ${
      concurrency.declared !== null &&
      html`
        <label for="concurrency">Tasks at a time in each worker process</label>
        <input id="concurrency" name="concurrency" type="number" min="1" autofocus
          value=${isSet(concurrency) ? concurrency.now : ""} placeholder="${concurrency.declared} declared" />`
    }
    <label for="total">${turns ? (turns.door ? "Requests at a time" : "Turns at a time") : "Tasks at a time, over all processes"}</label>
    <input id="total" name="total" type="number" min="1" value=${isSet(total) ? total.now : ""}
      placeholder=${total.declared === null ? "any number" : `${total.declared} declared`} />
    <label for="rate-max">${turns ? (turns.door ? "Requests that may be served" : "Turns that may begin") : "Tasks that may start, over all workers"}</label>
    <input id="rate-max" name="max" type="number" min="1" value=${isSet(rate) ? rate.now?.max : ""}
      placeholder=${rate.declared ? `${rate.declared.max} declared` : "any number"} />
    <label for="rate-per">in this time, such as 1s, 30s or 1m</label>
    <input id="rate-per" name="per" value=${isSet(rate) ? rate.now?.per : ""} placeholder=${rate.declared?.per ?? "1s"} />
    <p class="hint">An empty field is as declared. ${turns ? (turns.door ? "Requests that are served" : "Turns that are taken") : "Running tasks"} go on.</p>`,
  submit: "Change",
});

/** @param {Queue} queue */
export function badges({ orphaned, paused, resting, order, held, limit, settings, turns }) {
  const reason = resting && `${resting.reason}; next probe ${moment(resting.nextProbe)}`;
  return [
    orphaned && html`<span class="badge warn">no handler</span>`,
    paused && html`<span class="badge warn">paused</span>`,
    resting && html`<span class="badge warn" title=${reason}>circuit breaker open</span>`,
    isAdjusted(settings) &&
      html`<span class="badge" title="An operator has changed how many run at a time, or may start">adjusted</span>`,
    turns?.door && html`<span class="badge" title="Requests wait here for an API, and pass through to it">door</span>`,
    turns?.door === false &&
      html`<span class="badge" title="Its callers do the work, when it is their turn">turns</span>`,
    order === "fair" && html`<span class="badge" title="Callers take turns">fair</span>`,
    held !== null &&
      limit === null &&
      html`<span class="badge" title="One after another for each line key">keyed</span>`,
  ];
}
