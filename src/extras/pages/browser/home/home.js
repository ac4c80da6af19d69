/** The page at the root: the lines of the queues that its reader may see as they move, and how to join one. */

import { about, count } from "../../../../words/numbers.ts";
import { quoted, sampleOf } from "../../../../words/sample.ts";
import { html, render, useEffect, useState } from "../preact.js";
import { prefix } from "../server.js";

/** @typedef {import("../../../../wire/queue.ts").Queue} Queue */

const EVERY_MS = 1000;
const MAX_QUEUES = 8;
/** As many tasks of a line are drawn. */
const MAX_DOTS = 24;
/** The line that the button forms where the shipped handler runs, which counts seconds. */
const TASKS = 12;
const INPUT = { seconds: 3 };

/** The key that was entered in the dashboard, in this tab. */
const key = sessionStorage.getItem("paihao.key") ?? "";
const headers = key === "" ? {} : { Authorization: `Bearer ${key}` };

/** The queues of users, by their names; null if the reader may not see them. */
async function queuesSeen() {
  const response = await fetch(`${prefix}/v1/queues`, { headers, cache: "no-store" });
  if (!response.ok) return null;
  /** @type {{ items: Queue[] }} */
  const { items } = await response.json();
  return items.filter(({ own }) => !own).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function Home() {
  const [queues, setQueues] = useState(/** @type {readonly Queue[] | null} */ ([]));
  useEffect(() => {
    const look = () => void (document.hidden || queuesSeen().then(setQueues, () => undefined));
    look();
    const timer = setInterval(look, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  if (queues === null)
    return html`<p class="detail">This server has API keys: sign in on the <a href="${prefix}/dashboard">dashboard</a>, and its queues are here, too.</p>`;
  const joined = queues.find(({ name }) => name === "default") ?? queues[0];
  if (!joined) return null;
  const more = queues.length - MAX_QUEUES;
  const isCounting = joined.name === "default" && "seconds" in Object(joined.input?.properties);
  return html`
    <section aria-labelledby="now">
      <h2 id="now">Now</h2>
      <ul class="lines">${queues.slice(0, MAX_QUEUES).map(line)}</ul>
      ${more > 0 && html`<p class="detail">And ${count(more)} more.</p>`}
      ${isCounting && html`<${FormLine} />`}
    </section>
    <section aria-labelledby="join">
      <h2 id="join">Join ${joined.name} from a terminal</h2>
      ${curlsOf(joined)}
    </section>`;
}

/** @param {Queue} queue */
function line({ name, description, running, waiting, paused, eta, turns }) {
  const shown = Math.min(running, MAX_DOTS);
  const dots = Math.min(waiting, MAX_DOTS - shown);
  const wait = paused
    ? "paused"
    : eta === null
      ? ""
      : eta.seconds === 0
        ? "a new one starts at once"
        : `a new one starts in about ${about(eta.seconds)}`;
  const told = `${count(running)} ${turns ? "called" : "running"}, ${count(waiting)} waiting`;
  return html`
    <li key=${name}>
      <p><b>${name}</b> <span class="detail">${told}${wait !== "" && `; ${wait}`}</span></p>
      ${description && html`<p class="detail">${description}</p>`}
      <p class="dots" aria-hidden="true"><b>${"●".repeat(shown)}</b>${"●".repeat(dots)}${running + waiting > MAX_DOTS ? " …" : ""}</p>
    </li>`;
}

/** What a caller sends: to wait for the result, to take a number, to see the place. @param {Queue} queue */
function curlsOf({ name, consumes, input }) {
  const type = consumes[0] ?? "application/json";
  const body = type.includes("json") ? quoted(JSON.stringify(sampleOf(input ?? {}))) : "@file";
  const access = key === "" ? "" : ' -H "Authorization: Bearer $PAIHAO_KEY"';
  const url = `${location.origin}${prefix}/v1`;
  const submit = `curl -i${access} ${url}/queues/${name}/requests -H 'Content-Type: ${type}' -d ${body}`;
  return html`
    <dl class="curls">
      <dt>Wait for the result</dt><dd><pre>${submit}</pre></dd>
      <dt>Take a number instead</dt><dd><pre>${submit} -H 'Prefer: respond-async'</pre></dd>
      <dt>See the place in line, then the result; the id is the X-Request-Id above</dt><dd><pre>curl -i${access} ${url}/requests/$id</pre></dd>
    </dl>`;
}

/** Submits a task without waiting for it; returns the address of its page. */
async function submit() {
  const response = await fetch(`${prefix}/v1/requests`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json", Prefer: "respond-async" },
    body: JSON.stringify(INPUT),
  });
  if (response.status !== 202) throw new Error(`The server answered ${response.status}.`);
  return response.headers.get("Location") ?? "";
}

/** The button that makes a line, and opens the page of the last task in it. */
function FormLine() {
  const [isForming, setForming] = useState(false);
  const [last, setLast] = useState("");
  const [trouble, setTrouble] = useState("");
  async function form() {
    setForming(true);
    setTrouble("");
    // Opened at once: a browser allows that only while it handles the click.
    const beside = window.open("", "_blank");
    try {
      let at = "";
      for (let n = 0; n < TASKS; n += 1) at = await submit();
      setLast(at);
      if (beside) beside.location.href = at;
    } catch (error) {
      beside?.close();
      setTrouble(error instanceof Error ? error.message : String(error));
    }
    setForming(false);
  }
  return html`
    <p class="actions"><button id="form" type="button" disabled=${isForming} onClick=${form}>Form a line</button></p>
    <p class="told" role="status">
      ${trouble || (last !== "" && html`${TASKS} tasks of ${INPUT.seconds} s wait for their turns. <a href=${last}>The last one</a>`)}
    </p>`;
}

const place = document.getElementById("lines");
if (place) render(html`<${Home} />`, place);
