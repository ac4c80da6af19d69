/** The actions on a queue, and its badges. */

import { html } from "../../preact.js";
import { ask } from "../api.js";
import { moment } from "../parts/format.js";

/** @typedef {import("../api.js").Queue} Queue */

/**
 * @param {Queue} queue
 * @param {import("../desk.js").Desk} desk
 * @param {string | null} [kind]
 */
export function pauseButton({ name, paused, actions }, desk, kind = null) {
  const action = paused ? "resume" : "pause";
  if (!actions.includes(action)) return null;
  const verb = paused ? "Resume" : "Pause";
  const act = () =>
    desk.act(async () => {
      await ask(`/v1/queues/${encodeURIComponent(name)}/${action}`, { method: "POST" });
      return paused ? `${name} is running again.` : `${name} is paused: no task starts.`;
    });
  return html`<button type="button" class=${kind} onClick=${act} aria-label="${verb} ${name}">${verb}</button>`;
}

/**
 * Changes how many tasks run at a time, and may start.
 * @param {Queue} queue
 * @param {import("../desk.js").Desk} desk
 */
export function adjustButtons({ name, actions, settings: { concurrency, rate } }, desk) {
  if (!actions.includes("adjust")) return null;
  /** @param {object} json @param {string} done */
  const send = async (json, done) => {
    await ask(`/v1/queues/${encodeURIComponent(name)}`, { method: "PATCH", json });
    return done;
  };
  const adjust = () =>
    desk.act(async () => {
      const answer = await desk.ask(settingsQuestion(concurrency, rate));
      if (answer === null) return null;
      const [slots, max, per] = ["concurrency", "max", "per"].map((field) => String(answer.get(field) ?? "").trim());
      const json = {
        ...(concurrency.declared !== null && { concurrency: slots ? Number(slots) : null }),
        rate: max ? { max: Number(max), per: per || "1s" } : null,
      };
      return await send(json, `The settings of ${name} are changed.`);
    });
  const reset = () =>
    desk.act(() =>
      send(
        { rate: null, ...(concurrency.declared !== null && { concurrency: null }) },
        `${name} runs as its handler declares it.`,
      ),
    );
  return html`
    <button type="button" onClick=${adjust}>Settings</button>
    ${(isSet(concurrency) || isSet(rate)) && html`<button type="button" onClick=${reset}>As declared</button>`}`;
}

/** Whether an operator has set it. @param {{ declared: unknown, now: unknown }} setting */
const isSet = ({ declared, now }) => JSON.stringify(declared) !== JSON.stringify(now);

/**
 * @param {Queue["settings"]["concurrency"]} concurrency
 * @param {Queue["settings"]["rate"]} rate
 * @returns {import("../parts/dialog.js").Question}
 */
const settingsQuestion = (concurrency, rate) => ({
  title: "Settings of this queue",
  body: html`
    ${
      concurrency.declared !== null &&
      html`
        <label for="concurrency">Tasks at a time in each worker process</label>
        <input id="concurrency" name="concurrency" type="number" min="1" autofocus
          value=${isSet(concurrency) ? concurrency.now : ""} placeholder="${concurrency.declared} declared" />`
    }
    <label for="rate-max">Tasks that may start, over all workers</label>
    <input id="rate-max" name="max" type="number" min="1" value=${isSet(rate) ? rate.now?.max : ""}
      placeholder=${rate.declared ? `${rate.declared.max} declared` : "any number"} />
    <label for="rate-per">in this time, such as 1s, 30s or 1m</label>
    <input id="rate-per" name="per" value=${isSet(rate) ? rate.now?.per : ""} placeholder=${rate.declared?.per ?? "1s"} />
    <p class="hint">An empty field is as the handler declares it. Running tasks go on.</p>`,
  submit: "Change",
});

/** @param {Queue} queue */
export function badges({ orphaned, paused, resting, order, held, limit, settings }) {
  const reason = resting && `${resting.reason}; next probe ${moment(resting.nextProbe)}`;
  return [
    orphaned && html`<span class="badge warn">no handler</span>`,
    paused && html`<span class="badge warn">paused</span>`,
    resting && html`<span class="badge warn" title=${reason}>circuit breaker open</span>`,
    (isSet(settings.concurrency) || isSet(settings.rate)) &&
      html`<span class="badge" title="An operator has changed its concurrency or its rate">adjusted</span>`,
    order === "fair" && html`<span class="badge" title="Callers take turns">fair</span>`,
    held !== null &&
      limit === null &&
      html`<span class="badge" title="One after another for each line key">keyed</span>`,
  ];
}
