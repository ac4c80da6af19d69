import { type BarPart, LINES, sizeOf, type TicketWords } from "./browser/ticket/ticket-words.ts";
import { type Html, html } from "./page.ts";

/** What the page of a task or of a group has besides its words. */
interface TicketParts {
  readonly queue: string;
  /** Addresses and the document, for the script. */
  readonly data: Readonly<
    Record<"known" | "events" | "share" | "cancel", string> & { turns?: string; support?: string }
  >;
  /** Between the words and the buttons. */
  readonly content: Html;
}

/** The page of a task or of a group in its current state, which browser/ticket/ticket.js then keeps up to date. */
export function ticket(words: TicketWords, { queue, data, content }: TicketParts): Html {
  return html`
    <main id="ticket" class="card ticket" data-state="${words.look}" ${attributes(data)}>
      <header>
        <span class="queue">${queue}</span>
        <span id="live" class="live" hidden>live</span>
      </header>
      ${ticketLines(words)}
      ${content}
      <p id="finish" class="actions" hidden><button id="done" type="button" class="primary">Done</button></p>
      <p class="actions"><button id="copy" type="button" hidden>Copy link</button><button id="cancel" type="button" hidden></button></p>
      <p id="told" class="told" role="status"></p>
      <footer>
        <dl id="facts">${words.facts.map(
          ({ title, value, isTime }) =>
            html`<div><dt>${title}</dt><dd>${isTime ? html`<time datetime="${value}">${value}</time>` : value}</dd></div>`,
        )}</dl>
        <p id="trouble" class="trouble" role="status" hidden>Connection lost. Reconnecting …</p>
      </footer>
    </main>
    <dialog id="sure" aria-labelledby="sure-title">
      <h2 id="sure-title"></h2>
      <p id="consequence"></p>
      <p class="actions"><button id="keep" type="button"></button><button id="end" type="button" class="danger"></button></p>
    </dialog>`;
}

/** The words without what goes with them. */
export function ticketLines({ parts, percent, ...words }: TicketWords): Html {
  const value = percent === null ? "" : html`value="${percent}"`;
  const bar = parts
    ? barOf(parts, words.note)
    : html`<progress id="progress" max="100" ${value} aria-label="Progress"></progress>`;
  const [headline, number, below, ...others] = LINES;
  return html`
      <div role="status"><h1 id="${headline}">${words.headline}</h1></div>
      <p id="${number}" class="number ${sizeOf(words.number)}">${words.number}</p>
      <p id="${below}" class="${below}">${words.below}</p>
      ${bar}
      ${others.map((name) => html`<p id="${name}" class="${name}">${words[name]}</p>`)}`;
}

const barOf = (parts: readonly BarPart[], label: string) => html`
      <svg id="bar" class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${label}">${parts.map(
        ({ state, from, width }) => html`<rect class="${state}" x="${from}" width="${width}" height="10" />`,
      )}</svg>`;

const attributes = (data: Readonly<Record<string, string>>) =>
  Object.entries(data).map(([name, value]) => html` data-${name}="${value}"`);
