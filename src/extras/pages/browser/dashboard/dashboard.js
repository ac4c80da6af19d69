/** The dashboard: chooses the view, and shows what is around it. */

import { html, render, useEffect, useReducer, useRef, useState } from "../preact.js";
import { prefix } from "../server.js";
import { isSignedOut, SignIn, useAccess } from "./access.js";
import { addressOf, followLinks, go, paths } from "./address.js";
import { key, messageOf, ServerError } from "./api.js";
import { DeskContext } from "./desk.js";
import { keysQuestion, useKeys } from "./keys.js";
import { Menu } from "./menu.js";
import { Dialog } from "./parts/dialog.js";
import { Events } from "./views/events.js";
import { Overview } from "./views/overview.js";
import { QueueView } from "./views/queue.js";
import { Schedules } from "./views/schedules.js";
import { Search } from "./views/search.js";
import { TaskView } from "./views/task.js";
import { Missing } from "./views/view.js";
import { Workers } from "./views/workers.js";

/** How long the page says what was done, ms. */
const SAID_MS = 8000;

/** @typedef {import("./parts/dialog.js").Question} Question */

function Page() {
  const [, redraw] = useReducer((times) => times + 1, 0);
  const [turn, refresh] = useReducer((turn) => turn + 1, 0);
  const { access, setAccess, signOut } = useAccess();
  const [said, setSaid] = useState({ text: "" });
  const [failedAction, setFailedAction] = useState(/** @type {unknown} */ (null));
  const [failedLoads, setFailedLoads] = useState(/** @type {readonly unknown[]} */ ([]));
  const [question, setQuestion] = useState(
    /** @type {(Question & { onAnswer: (data: FormData | null) => void }) | null} */ (null),
  );
  useEffect(() => {
    addEventListener("addresschange", redraw);
    return () => removeEventListener("addresschange", redraw);
  }, []);
  useEffect(() => {
    const silence = setTimeout(() => setSaid({ text: "" }), SAID_MS);
    return () => clearTimeout(silence);
  }, [said]);

  /** @type {import("./desk.js").Desk} */
  const desk = {
    turn,
    refresh: () => refresh(undefined),
    async act(what) {
      try {
        const done = await what();
        if (done !== null) setSaid({ text: done });
        desk.refresh();
      } catch (error) {
        if (isSignedOut(error)) setAccess(null);
        else setFailedAction(error);
      }
    },
    addTrouble(error) {
      if (isSignedOut(error)) setAccess(null);
      setFailedLoads((errors) => [...errors, error]);
      return () => setFailedLoads((errors) => errors.filter((each) => each !== error));
    },
    ask: (question) =>
      new Promise((resolve) => {
        /** @param {FormData | null} data */
        const onAnswer = (data) => {
          setQuestion(null);
          resolve(data);
        };
        setQuestion({ ...question, onAnswer });
      }),
  };

  const showKeys = () => void desk.ask(keysQuestion);
  const [isMenuOpen, openMenu] = useState(false);
  useKeys({ onMenu: () => openMenu(true) });

  const address = addressOf(location.pathname);
  const dismiss = () => setFailedAction(null);
  const [failedLoad] = failedLoads;
  if (access === null)
    return html`
      <${Bar} view="" access=${access} />
      <${SignIn} key="sign-in" reason=${key.get() === "" ? "" : "The server no longer knows the key of this tab."} onAccess=${setAccess} />`;
  return html`
    <a class="unseen" href="#view">Skip to the content</a>
    <${Bar} view=${address.view} access=${access} onKeys=${showKeys} onSignOut=${signOut} />
    <div id="trouble" class="trouble" role="alert" hidden=${failedAction === null && failedLoad === undefined}>
      ${failedAction !== null && trouble(failedAction, "Dismiss", dismiss)}
      ${failedLoad !== undefined && trouble(failedLoad, isForbidden(failedLoad) ? null : "Try again", desk.refresh)}
    </div>
    <${DeskContext.Provider} value=${desk}>${view(address)}${isMenuOpen && html`<${Menu} onClose=${() => openMenu(false)} />`}<//>
    <p id="said" class="said" role="status">${said.text}</p>
    ${question && html`<${Dialog} ...${question} />`}`;
}

/** Whether two addresses have the same view; its tabs and options may differ. @param {import("./address.js").Address} address */
function view(address) {
  if (address.view === "overview") return html`<${Overview} key="overview" />`;
  if (address.view === "queue") return html`<${QueueView} key="queue ${address.name}" name=${address.name} />`;
  if (address.view === "task") return html`<${TaskView} key="task ${address.id}" id=${address.id} />`;
  if (address.view === "workers") return html`<${Workers} key="workers" />`;
  if (address.view === "schedules") return html`<${Schedules} key="schedules" />`;
  if (address.view === "events") return html`<${Events} key="events" />`;
  if (address.view === "search") return html`<${Search} key=${location.search} />`;
  return html`<${Missing} key=${location.pathname} />`;
}

/** @param {unknown} error */
const isForbidden = (error) => error instanceof ServerError && error.status === 403;

/**
 * @param {unknown} error
 * @param {string | null} verb
 * @param {() => void} act
 */
const trouble = (error, verb, act) => html`
  <p>
    <span>${messageOf(error)}</span>
    ${verb && html`<button type="button" onClick=${act}>${verb}</button>`}
  </p>`;

/**
 * @param {{ view: string, access: import("./api.js").Access | null | undefined, onKeys?: () => void, onSignOut?: () => void }} props
 */
function Bar({ view, access, onKeys, onSignOut }) {
  const find = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** @param {Event} event */
  function open(event) {
    event.preventDefault();
    const text = find.current?.value.trim() ?? "";
    if (text === "" || !find.current) return;
    find.current.value = "";
    // A key that may not read the tasks of others finds its own by their ids.
    go(access?.scopes.includes("read") === false ? paths.task(text) : paths.search(text));
  }
  /** @param {string} name @param {string} path @param {string} title */
  const link = (name, path, title) => html`<a href=${path} aria-current=${name === view ? "page" : null}>${title}</a>`;
  return html`
    <header class="bar">
      <a class="brand" href=${paths.overview}><img src="${prefix}/favicon.ico" alt="" width="22" height="22" />Paihao</a>
      <nav aria-label="Views">
        ${link("overview", paths.overview, "Queues")}
        ${link("workers", paths.workers, "Workers")}
        ${link("schedules", paths.schedules, "Schedules")}
        ${link("events", paths.events, "Events")}
        <a href="${prefix}/docs">API</a>
      </nav>
      ${
        onKeys &&
        html`
          <search>
            <form id="find" onSubmit=${open}>
              <input id="find-text" ref=${find} name="text" type="search" placeholder="Id, label or line key" aria-label="Find tasks by id, label or line key"
                aria-keyshortcuts="/" autocomplete="off" spellcheck=${false} maxlength="128" />
              <kbd aria-hidden="true">/</kbd>
            </form>
          </search>
          <button id="keys" type="button" class="quiet" aria-label="Keys" aria-keyshortcuts="?" onClick=${onKeys}>?</button>`
      }
      ${
        access?.keys &&
        html`
          <p id="who"><b>${access.caller}</b> <span class="hint">${access.scopes.includes("admin") ? "admin" : access.scopes.join(", ")}</span></p>
          ${key.get() !== "" && html`<button type="button" class="quiet" id="sign-out" onClick=${onSignOut}>Sign out</button>`}`
      }
    </header>`;
}

followLinks();
const page = document.getElementById("page");
if (page) render(html`<${Page} />`, page);
