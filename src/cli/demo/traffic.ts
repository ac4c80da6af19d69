import { setTimeout as sleep } from "node:timers/promises";
import { PaihaoClient } from "../../client/client.ts";

/** From one peak of the traffic to the next, s. */
const PERIOD_S = 180;

/** The share of a queue's peak at a second: from a fifth of it to all. */
const levelAt = (second: number): number => 0.6 + 0.4 * Math.sin((2 * Math.PI * second) / PERIOD_S);

/** What is submitted to each queue: tasks a second at the peak, and the label and input of the n-th. */
const KINDS: Readonly<Record<string, { peak: number; of(n: number): { label: string; input: object } }>> = {
  thumbnails: { peak: 9, of: (n) => ({ label: `photo ${n}`, input: { seconds: 0.4 + 0.1 * (n % 9) } }) },
  emails: { peak: 6, of: (n) => ({ label: `letter ${n}`, input: { seconds: 0.15 } }) },
  vision: { peak: 0.55, of: (n) => ({ label: `scan ${n}`, input: { seconds: 2 + 0.3 * (n % 11) } }) },
  reports: {
    peak: 1.2,
    of: (n) => ({ label: `week ${n} of customer ${n % 4}`, input: { customer: n % 4, seconds: 2 + 0.2 * (n % 9) } }),
  },
  translations: {
    peak: 2.4,
    of: (n) => ({
      label: `page ${n}`,
      input: { customer: n % 5 === 0 ? "small" : "large", seconds: 0.8 + 0.1 * (n % 7) },
    }),
  },
  invoices: { peak: 0.8, of: (n) => ({ label: `invoice ${2000 + n}`, input: { number: 2000 + n, seconds: 0.9 } }) },
};

/** Submits tasks to all queues, more and less of them by turns, until the end. */
export async function sendTraffic(url: string, signal: AbortSignal): Promise<void> {
  const client = new PaihaoClient({ url });
  const sent = new Map<string, number>();
  for (let second = 0; !signal.aborted; second += 1) {
    const submissions: Promise<unknown>[] = [];
    for (const [queue, { peak, of }] of Object.entries(KINDS)) {
      const before = sent.get(queue) ?? 0;
      const due = before + peak * levelAt(second);
      sent.set(queue, due);
      for (let n = Math.floor(before); n < Math.floor(due); n += 1) {
        const { label, input } = of(n);
        // A queue that is full, or a server that stops, refuses it.
        submissions.push(client.submit(queue, input, { label, signal }).catch(() => undefined));
      }
    }
    await Promise.all([...submissions, sleep(1000, undefined, { signal }).catch(() => undefined)]);
  }
}
