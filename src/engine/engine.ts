import { Metrics } from "../metrics/metrics.ts";
import { type Redaction, redaction } from "../redact.ts";
import type { Keys } from "../store/keys.ts";
import type { Scripts } from "../store/library/scripts.ts";
import type { Standby } from "../store/line/standby.ts";
import type { PubSub } from "../store/pubsub.ts";
import { type Call, Calls } from "./calls/calls.ts";
import { Homes } from "./calls/homes.ts";
import { LargeValues } from "./calls/large-values.ts";
import { EstimateSample } from "./estimates/calibration.ts";
import { Events } from "./monitoring/events.ts";
import { Histories } from "./monitoring/history.ts";
import { Incidents } from "./monitoring/incident-watch.ts";
import { Workers } from "./monitoring/workers.ts";
import { Queues } from "./queues.ts";
import type { QueueSettings } from "./settings.ts";
import { Leases } from "./tasks/leases.ts";
import { StepRecords } from "./tasks/step-records.ts";
import { Submitter } from "./tasks/submit.ts";
import { DeadLetters } from "./upkeep/dead-letters.ts";
import { lossOf, Tick } from "./upkeep/tick.ts";
import { Upkeep } from "./upkeep/upkeep.ts";
import { Inspector } from "./watch/inspect.ts";
import { Notices } from "./watch/notices.ts";
import { Outputs } from "./watch/output.ts";
import { Scans } from "./watch/pages.ts";

/** The dependencies of an engine. */
export interface EngineParts {
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly pubsub: PubSub;
  /** The queues this process knows, by name. */
  readonly queues: ReadonlyMap<string, QueueSettings>;
  /** Settings for tasks of other queues that are still in the store. */
  readonly fallback: QueueSettings;
  /** Scripts for submissions only, on a connection that confirms durability. Default: no confirmation. */
  readonly submissions?: Scripts;
  /** Scripts and reads of large values, on a connection of their own. Default: the same connection. */
  readonly large?: Scripts;
  /** Opens a connection on which reservations of a queue wait for work. Default: they do not wait. */
  readonly openStandby?: (queue: string) => Promise<Standby | undefined>;
  /** Makes texts of errors fit to be shown; default: without secrets that only the settings tell. */
  readonly redacted?: Redaction;
  /** Default: metrics that are not read. */
  readonly metrics?: Metrics;
}

/** Everything that can be done to tasks. Stateless: any number of processes can have an engine on the same store. */
export class Engine {
  readonly keys: Keys;
  readonly pubsub: PubSub;
  readonly metrics: Metrics;
  /** Makes texts of errors fit to be shown. */
  readonly redacted: Redaction;
  /** Notices of changes of tasks. */
  readonly notices: Notices;
  /** Calls a verb by its name, in the partition of its queue. */
  readonly call: Call;
  readonly submitter: Submitter;
  readonly inspector: Inspector;
  /** Reads long inputs and results. */
  readonly values: LargeValues;
  /** Where a task is of which only the id is known. */
  readonly homes: Homes;
  readonly queues: Queues;
  /** What looks through lists. */
  readonly scans = new Scans();
  readonly leases: Leases;
  readonly workers: Workers;
  /** What happened to the deployment. */
  readonly events: Events;
  /** What is wrong with it. */
  readonly incidents: Incidents;
  readonly deadLetters: DeadLetters;
  readonly upkeep: Upkeep;
  /** For verbs that only an extension calls. */
  readonly scripts: Scripts;
  /** The durable steps of running tasks. */
  readonly steps: StepRecords;
  /** What their handlers write. */
  readonly outputs: Outputs;
  /** The state of the queues in the last hour. */
  readonly histories: Histories;
  /** A sample of the estimates, to be compared with the actual starts. */
  readonly sample = new EstimateSample();

  constructor(parts: EngineParts) {
    const { scripts, keys, pubsub, queues: own, fallback, large = scripts, openStandby } = parts;
    this.scripts = scripts;
    this.keys = keys;
    this.pubsub = pubsub;
    const metrics = parts.metrics ?? new Metrics();
    this.metrics = metrics;
    this.redacted = parts.redacted ?? redaction();
    for (const queue of own.keys()) metrics.begin(queue);
    const notices = new Notices(pubsub, keys);
    this.notices = notices;
    const homes = new Homes(scripts, keys);
    this.homes = homes;
    const stored = { scripts, keys };

    const events = new Events(scripts, keys);
    this.events = events;
    const tick = new Tick(scripts, keys, own, (queue) => metrics.lost.begin(queue));
    this.histories = new Histories(scripts, keys);
    const upkeep = new Upkeep(tick, homes, this.histories, metrics, events);
    this.upkeep = upkeep;
    this.queues = new Queues(scripts, keys, own, fallback, () => tick.others, this.scans);
    const settings = (queue: string) => this.queues.settings(queue);
    this.incidents = new Incidents({ scripts, keys, queues: this.queues, histories: this.histories, events });

    const { call } = new Calls(scripts, large, keys, metrics, (queue) => lossOf(settings(queue)));
    this.call = call;
    const { noteDue } = upkeep;

    const submissions = { keys, scripts: parts.submissions ?? scripts, large: parts.submissions ?? large };
    this.submitter = new Submitter({
      ...submissions,
      process: notices.process,
      homes,
      metrics,
      call,
      due: noteDue,
      full: (queue, limit, waiting) => events.full(queue, limit, waiting),
      storeFull: () => events.refusedByStore(),
      sent: (queue) => upkeep.noteWork(queue),
      accepted: ({ id, queue, options: { deadlineMs, presenceMs } }, { index, dueInMs, snapshot, turn }) => {
        const cancelMs = Math.min(deadlineMs ?? Number.POSITIVE_INFINITY, presenceMs ?? Number.POSITIVE_INFINITY);
        const home = keys.partitionOfQueue(queue);
        if (cancelMs !== Number.POSITIVE_INFINITY) noteDue(home, cancelMs);
        if (dueInMs !== null) noteDue(home, dueInMs);
        // Tasks that wait for their keys depend on the ends of others, which says nothing about the accuracy of estimates.
        else if (!turn?.ends) this.sample.offer(id, turn ? turn.before : index, snapshot);
      },
    });
    this.values = new LargeValues(large, keys);
    const { values } = this;
    this.inspector = new Inspector(scripts, keys, homes, values, call, notices.process);

    this.leases = new Leases({
      ...{ call, scripts, large, keys, metrics, notices, openStandby, settings, noteDue },
    });

    this.workers = new Workers(stored);
    this.steps = new StepRecords(scripts, keys);
    this.outputs = new Outputs(scripts, keys);
    this.deadLetters = new DeadLetters(scripts, keys, this.scans, (id, queue) => call("retry", { id, queue }));
  }
}
