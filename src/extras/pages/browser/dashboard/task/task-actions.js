/** The actions on tasks. */

import { counted } from "../../../../../words/numbers.ts";
import { html } from "../../preact.js";
import { ask, errorOf, send } from "../api.js";

/** @typedef {Pick<import("../api.js").Task, "id" | "state" | "actions" | "turn" | "label">} Acted */
/** @typedef {import("../desk.js").Desk} Desk */
/** @typedef {import("../parts/dialog.js").Question} Question */
/**
 * @typedef {{ verb: string, short?: string, done: string, kind?: string, question?: (tasks: readonly Acted[]) => Question, act: (task: Acted) => Promise<string> }} Action
 *   `short`: the verb before a number; `done`: what became of several tasks; `question`: what a person is asked first; `act` returns what was done
 */

/** @param {string} id */
const pathOf = (id) => `/v1/requests/${encodeURIComponent(id)}`;

/** In the order in which they are shown. @type {Readonly<Record<string, Action>>} */
const ACTIONS = {
  retry: {
    verb: "Retry",
    done: "are back in line, with all their attempts",
    async act({ id }) {
      await ask(`${pathOf(id)}/retry`, { method: "POST" });
      return `${id} is back in line, with all its attempts.`;
    },
  },
  place: {
    verb: "Move to front",
    done: "are the first in line",
    async act({ id }) {
      await ask(pathOf(id), { method: "PATCH", json: { place: "first" } });
      return `${id} is the first in line.`;
    },
  },
  cancel: {
    verb: "Cancel",
    done: "are canceled, or asked to stop",
    kind: "danger",
    question: cancelQuestion,
    act: cancel,
  },
  next: {
    verb: "Call the next one",
    short: "End",
    done: "have lost their turns",
    question: (tasks) => ({
      title: tasks.length === 1 ? "Call the next one?" : `End ${counted(tasks.length, "turn")}?`,
      body: html`<p>${holder(tasks)} at once, and whoever is next in line is called. Who loses a turn is told, but nothing stops their work.</p>`,
      submit: tasks.length === 1 ? "Call the next one" : "End the turns",
      otherwise: "Do nothing",
      isGrave: true,
    }),
    async act(task) {
      await cancel(task);
      return `The turn of ${task.label ?? task.id} is over.`;
    },
  },
  end: {
    verb: "End this request",
    short: "End",
    done: "are ended",
    kind: "danger",
    question: (tasks) => ({
      title: tasks.length === 1 ? "End this request?" : `End ${counted(tasks.length, "request")}?`,
      body: html`<p>The API behind the gateway is told to stop, the caller gets an error, and whoever is next in line is served.</p>`,
      submit: tasks.length === 1 ? "End the request" : "End the requests",
      otherwise: "Do nothing",
      isGrave: true,
    }),
    async act(task) {
      await cancel(task);
      return `${task.label ?? task.id} is ended.`;
    },
  },
  delete: {
    verb: "Delete",
    done: "are deleted",
    kind: "danger",
    question: (tasks) =>
      questionOf("Delete", tasks, `The result and the input of ${subject(tasks)} are deleted. This cannot be undone.`),
    async act({ id }) {
      await ask(pathOf(id), { method: "DELETE" });
      return `${id} is deleted.`;
    },
  },
};

/** "report-7", "3 tasks". @param {readonly Acted[]} tasks */
const subject = (tasks) => (tasks.length === 1 ? (tasks[0]?.id ?? "") : counted(tasks.length, "task"));

/** @param {readonly Acted[]} tasks */
function holder(tasks) {
  const [{ label = null, id = "" } = {}] = tasks;
  return tasks.length === 1 ? `${label ?? id} loses its turn` : "They lose their turns";
}

/**
 * @param {string} verb
 * @param {readonly Acted[]} tasks
 * @param {string} consequence
 * @returns {Question}
 */
const questionOf = (verb, tasks, consequence) => ({
  title: tasks.length === 1 ? `${verb} this task?` : `${verb} ${subject(tasks)}?`,
  body: html`<p>${consequence}</p>`,
  submit: tasks.length === 1 ? `${verb} the task` : `${verb} ${subject(tasks)}`,
  otherwise: "Do nothing",
  isGrave: true,
});

/** @param {readonly Acted[]} tasks */
function cancelQuestion(tasks) {
  const running = tasks.filter(({ state }) => state === "running");
  const waiting = tasks.filter((task) => !running.includes(task));
  const they = waiting.length === 1 ? "leaves the line and will not run" : "leave the line and will not run";
  const parts = [
    waiting.length > 0 && `${subject(waiting)} ${they}.`,
    running.length > 0 &&
      `${subject(running)} ${running.length === 1 ? "is" : "are"} running. The handler is asked to stop; what it has already done is not undone unless it defines an undo.`,
  ];
  return questionOf("Cancel", tasks, parts.filter(Boolean).join(" "));
}

/** @param {Acted} task */
async function cancel({ id }) {
  const answer = await send(pathOf(id), { method: "DELETE" });
  if (!answer.ok) throw await errorOf(answer);
  return answer.status === 202 ? `${id} was asked to stop.` : `${id} is canceled.`;
}

/** Who holds a turn is canceled to call the next one; a request at a door is one. @param {Acted} task @returns {readonly string[]} */
const offered = ({ actions, turn }) =>
  actions.map((action) => (action === "cancel" && turn ? (turn.door ? "end" : "next") : action));

/**
 * What the key may do to some of the tasks, according to the server, each with the tasks that allow it.
 * @template {Acted} T
 * @param {readonly T[]} tasks
 */
export const actionsOn = (tasks) =>
  Object.entries(ACTIONS)
    .map(([name, action]) => ({
      ...{ name, ...action },
      tasks: tasks.filter((task) => offered(task).includes(name)),
    }))
    .filter(({ tasks }) => tasks.length > 0);

/**
 * Asks a person, if the action has a question.
 * @param {Action} action
 * @param {readonly Acted[]} tasks
 * @param {Desk} desk
 */
export const isWanted = async ({ question }, tasks, desk) => !question || (await desk.ask(question(tasks))) !== null;

/**
 * Buttons for what the key may do to the task of a page.
 * @param {Acted} task
 * @param {Desk} desk
 * @param {string} [kind] their classes
 */
export const taskButtons = (task, desk, kind = "") =>
  actionsOn([task]).map(
    (action) => html`
      <button type="button" key=${action.name} class="${kind} ${action.kind ?? ""}" aria-label="${action.verb} ${task.id}"
        onClick=${() => desk.act(async () => ((await isWanted(action, [task], desk)) ? action.act(task) : null))}>${action.verb}</button>`,
  );
