/** What is on the page of a task or a group. The server writes it into the page, and the script keeps it up to date. */
export interface TicketWords {
  readonly title: string;
  /** What the style goes by. */
  readonly look: string;
  readonly headline: string;
  /** In large figures. */
  readonly number: string;
  /** Below the number. */
  readonly below: string;
  /** How far its bar is; null if that is unknown. */
  readonly percent: number | null;
  /** A bar of several colours, in place of a plain one. */
  readonly parts?: readonly BarPart[];
  readonly note: string;
  readonly detail: string;
  readonly wait: string;
  /** What the reader may do. */
  readonly advice: string;
  readonly facts: readonly TicketFact[];
  /** What is asked before it is canceled; null where that is not possible. */
  readonly question: TicketQuestion | null;
  /** Where it is said to be done, by who works himself; without one there is no button for that. */
  readonly done?: string;
}

/** The button that cancels, and what it asks first. */
export interface TicketQuestion {
  readonly verb: string;
  readonly title: string;
  readonly consequence: string;
  readonly no: string;
  readonly yes: string;
}

/** A part of a bar, which is from 0 to 1000. */
export interface BarPart {
  readonly state: string;
  readonly from: number;
  readonly width: number;
}

/** A fact at the foot of the page. */
export interface TicketFact {
  readonly title: string;
  readonly value: string;
  readonly isTime?: boolean;
}

/** The texts of a page that change. */
export const LINES = ["headline", "number", "below", "note", "detail", "wait", "advice"] as const;

/** Whether a task or a group with this state has ended. */
export const hasEnded = ({ state }: { readonly state: string }): boolean =>
  ["succeeded", "failed", "canceled", "done"].includes(state);

/** Whether a number must be smaller to fit. */
export const sizeOf = (number: string): "long" | "short" => (number.length > 3 ? "long" : "short");
