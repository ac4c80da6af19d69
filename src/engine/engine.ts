import { INTERNAL_QUEUES, isInternalQueue } from "../handler/internal-queues.ts";
import { Metrics } from "../metrics.ts";
import type { Index, Keys } from "../store/keys.ts";
import type { PubSub } from "../store/pubsub.ts";
import type { Standby } from "../store/standby.ts";
import type {
  BeginVerdict,
  Cancellation,
  CancelVerdict,
  CompleteVerdict,
  FailVerdict,
  Lease,
  LoseVerdict,
  QueueRow,
  ReleaseVerdict,
  Renewed,
  RequestCopy,
  Reservation,
  Reserved,
  ReservedPart,
  RetryVerdict,
  Scripts,
  TaskRecord,
  UpdateVerdict,
} from "../store/verbs/scripts.ts";
import type { Answer, Body } from "../task.ts";
import { Completions } from "./attempt/complete.ts";
import { type Failure, Failures } from "./attempt/fail.ts";
import { Outputs } from "./attempt/output.ts";
import { StepRecords } from "./attempt/steps.ts";
import { type BatchedVerbs, batchedVerbs } from "./calls/batched-verbs.ts";
import { newCall } from "./calls/new-call.ts";
import { Sample } from "./estimates/calibration.ts";
import { LargeValues } from "./large-values/large-values.ts";
import { DeadLetters } from "./maintenance/dead-letters.ts";
import { lossOf, Tick, type Ticked } from "./maintenance/tick.ts";
import { figuresOf, holdsTasks } from "./monitoring/figures.ts";
import { heartbeatOf } from "./monitoring/heartbeat.ts";
import { Histories } from "./monitoring/history.ts";
import { type AboutWorker, workersOf } from "./monitoring/workers.ts";
import { Homes } from "./partitions/homes.ts";
import { OtherPartitions } from "./partitions/other-partitions.ts";
import { finishedOf } from "./reading/finished.ts";
import { type Inspection, type InspectOptions, Inspector } from "./reading/inspect.ts";
import { type Page, type PageRequest, pageOf } from "./reading/page.ts";
import { Reservations } from "./reservation/reserve.ts";
import { Rests } from "./reservation/rests.ts";
import { type QueueSettings, retentionOf } from "./settings.ts";
import { Allocations } from "./submission/allocations.ts";
import type { Submission } from "./submission/submission.ts";
import { type SubmissionVerdict, Submitter } from "./submission/submit.ts";
import { update } from "./submission/update.ts";
import { Notices } from "./watching/notices.ts";
import { Wait } from "./watching/wait.ts";

/** What an engine needs. */
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
  /** Default: metrics that are not read. */
  readonly metrics?: Metrics;
}

/** Processes register the queues of their handlers every thirty seconds; one that none has registered for so long is orphaned, ms. */
const ORPHANED_MS = 60_000;

/** Called when something of a partition will be due in `delayMs`: a task, its deadline, a lease. */
type DueListener = (partition: number, delayMs: number) => void;

/** Called when a tick has found waiting tasks in a partition. */
type WorkListener = (partition: number) => void;

/** Every verb on tasks, over all partitions. Stateless: any number of processes can have an engine on the same store. */
export class Engine {
  readonly keys: Keys;
  readonly pubsub: PubSub;
  /** What this process is told of tasks. */
  readonly notices: Notices;
  readonly queues: ReadonlyMap<string, QueueSettings>;
  /** Ids allocated for future tasks. */
  readonly allocations: Allocations;
  /** The durable steps of running tasks. */
  readonly steps: StepRecords;
  /** What their handlers write. */
  readonly outputs: Outputs;
  readonly metrics: Metrics;
  /** How the queues stood in the last hour. */
  readonly histories: Histories;
  /** A sample of the estimates, to be compared with the actual starts. */
  readonly sample: Sample;
  readonly #dueListeners = new Set<DueListener>();
  /** By queue. */
  readonly #workListeners = new Map<string, Set<WorkListener>>();
  readonly #scripts: Scripts;
  /** How submissions reach the store. */
  readonly #submissions: { readonly scripts: Scripts; readonly large: Scripts; readonly keys: Keys };
  readonly #submitter: Submitter;
  readonly #inspector: Inspector;
  readonly #completions: Completions;
  readonly #failures: Failures;
  readonly #deadLetters: DeadLetters;
  readonly #values: LargeValues;
  readonly #fallback: QueueSettings;
  readonly #homes: Homes;
  readonly #tick: Tick;
  readonly #reservations: Reservations;
  /** The rests of queues whose targets are down. */
  readonly rests: Rests;
  readonly #batched: BatchedVerbs;
  readonly #openStandby: EngineParts["openStandby"];

  constructor(parts: EngineParts) {
    const { scripts, keys, pubsub, large = scripts } = parts;
    this.keys = keys;
    this.pubsub = pubsub;
    const keyed = [...parts.queues.values()].filter(({ keyedConcurrency }) => keyedConcurrency !== undefined);
    this.notices = new Notices(pubsub, keys, new Set(keyed.map(({ queue }) => keys.partitionOf(queue))));
    this.queues = parts.queues;
    this.metrics = parts.metrics ?? new Metrics();
    for (const queue of parts.queues.keys()) this.metrics.begin(queue);
    if (parts.queues.has(INTERNAL_QUEUES.webhooks)) this.metrics.beginAttempts(INTERNAL_QUEUES.webhooks);
    this.#scripts = scripts;
    this.#fallback = parts.fallback;
    this.sample = new Sample();
    const others = new OtherPartitions(scripts, keys);
    this.#submissions = { keys, scripts: parts.submissions ?? scripts, large: parts.submissions ?? large };
    const homes = new Homes(scripts, keys);
    this.#homes = homes;
    this.#submitter = new Submitter({
      ...this.#submissions,
      process: this.notices.process,
      homes,
      others,
      metrics: this.metrics,
      accepted: ({ id, delayMs, deadlineMs }, { index, snapshot, turn }) => {
        if (deadlineMs !== null) this.noteDue(homes.of(id), deadlineMs);
        if (delayMs > 0) this.noteDue(homes.of(id), delayMs);
        // What waits for its key depends on the outcome of others, which is no measure of estimates.
        else if (!turn?.ends) this.sample.offer(id, turn ? turn.before : index, snapshot);
      },
    });
    this.#values = new LargeValues(large, keys);
    this.#inspector = new Inspector({ scripts, keys, homes, others, values: this.#values }, this.notices.process);
    const ending = { scripts, large, keys, homes, metrics: this.metrics, notices: this.notices };
    this.#completions = new Completions(ending);
    this.#failures = new Failures(ending);
    this.rests = new Rests(scripts, keys);
    const settings = (queue: string) => this.settings(queue);
    const { rests } = this;
    const completions = this.#completions;
    const { process } = this.notices;
    this.#reservations = new Reservations({ scripts, keys, homes, process, rests, completions, settings });
    this.#tick = new Tick(scripts, keys, this.queues, (queue) => this.metrics.lost.begin(queue));
    this.histories = new Histories(scripts, keys);
    this.allocations = new Allocations(scripts, keys);
    this.steps = new StepRecords(scripts, keys, homes);
    this.outputs = new Outputs(scripts, keys, homes);
    this.#deadLetters = new DeadLetters(scripts, keys, (id, partition) => {
      homes.note(id, partition);
      return this.retry(id);
    });
    this.#openStandby = parts.openStandby;
    this.#batched = batchedVerbs(scripts, keys, homes, this.metrics);
  }

  /** Calls the listener when this process makes something due in the future; returns a function that removes the listener. */
  onDue(listener: DueListener): () => void {
    this.#dueListeners.add(listener);
    return () => this.#dueListeners.delete(listener);
  }

  /** Tells that something of a partition will be due. */
  noteDue(partition: number, delayMs: number): void {
    for (const listener of this.#dueListeners) listener(partition, delayMs);
  }

  /** Calls the listener for each tick that finds waiting tasks of a queue; returns a function that removes the listener. */
  onWork(queue: string, listener: WorkListener): () => void {
    const listeners = this.#workListeners.get(queue) ?? new Set();
    this.#workListeners.set(queue, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** The settings of a queue, even if it has no handler here. */
  settings(queue: string): QueueSettings {
    return this.queues.get(queue) ?? { ...this.#fallback, queue };
  }

  /**
   * Stores a task and puts it in line, or returns why not. Submissions of one turn of the event loop are sent together.
   * @param listen this process is notified of its end, even if the task exists already: for a {@link wait} that has begun
   * @param trace the trace that goes with it, known only once a span has begun: copying the submission would cost more than the span
   * @throws PaihaoError store-unavailable (it may have been stored anyway: submit again under the same id), store-full
   */
  submit(
    submission: Submission,
    settings: QueueSettings,
    listen = false,
    trace = submission.trace,
  ): Promise<SubmissionVerdict> {
    return this.#submitter.submit(submission, settings, listen, trace);
  }

  /** Stores tasks of a queue in their order, as {@link submit} does; never rejects. */
  submitAll(
    submissions: readonly Submission[],
    settings: QueueSettings,
  ): Promise<readonly PromiseSettledResult<SubmissionVerdict>[]> {
    return this.#submitter.submitAll(submissions, settings);
  }

  /**
   * Replaces the input of a waiting or scheduled task, which keeps its place.
   * @param revision how often it must have been replaced before; default: any number
   * @throws PaihaoError store-unavailable
   */
  update(submission: Submission, settings: QueueSettings, revision?: number): Promise<UpdateVerdict> {
    return update({ ...this.#submissions, homes: this.#homes }, submission, settings, revision);
  }

  /** The task, or null if it is unknown. @throws PaihaoError store-unavailable */
  inspect(id: string, options: InspectOptions): Promise<Inspection | null> {
    return this.#inspector.inspect(id, options);
  }

  /** What few callers want to know of a task; null if it is unknown. @throws PaihaoError store-unavailable */
  record(id: string): Promise<TaskRecord | null> {
    const read = (partition: number) => this.#scripts.record(this.keys.tag(partition), id);
    return this.#homes.at(id, read, (record) => record === null);
  }

  /** Begins to listen for the end of a task, which is to be submitted after that, with `listen`. The caller must stop it. */
  wait(task: Pick<Submission, "id" | "queue">): Wait {
    return new Wait(task, this.#inspector, this.notices);
  }

  /**
   * Reserves up to `count` tasks of a queue in one partition, and sends the pending completions with the same call. A rate
   * applies to all partitions together.
   * @throws PaihaoError store-unavailable
   */
  reserve(partition: number, request: Reservation): Promise<ReservedPart> {
    return this.#reservations.reserve(partition, request);
  }

  /**
   * Opens a connection on which reservations of a queue wait for work; undefined if they cannot, since more than the line decides:
   * other partitions, or whether the target of a gateway is up.
   */
  async openStandby(queue: string): Promise<Standby | undefined> {
    if (this.keys.partitions > 1 || this.settings(queue).rests || isInternalQueue(queue)) return undefined;
    return await this.#openStandby?.(queue);
  }

  /** The input of a task, which was read with it if it is short; null if it is no longer in the store. @throws PaihaoError store-unavailable */
  async inputOf({ id, input, inputBytes }: Pick<Reserved, "id" | "input" | "inputBytes">): Promise<Buffer | null> {
    if (input) return input;
    const read = (partition: number) => this.#values.read("input", id, inputBytes, partition);
    return await this.#homes.at(id, read, (value) => value === null);
  }

  /** The same, the rest of a long one being read only as it is taken. */
  async inputInPieces({ id, input, inputBytes }: Pick<Reserved, "id" | "input" | "inputBytes">): Promise<Body | null> {
    if (input) return { body: input };
    const begin = (partition: number) => this.#values.begin("input", id, inputBytes, partition);
    const begun = await this.#homes.at(id, begin, (value) => value === null);
    return begun && { body: begun.start, rest: begun.rest };
  }

  /** Stores the result of an attempt. Idempotent. @throws PaihaoError store-unavailable */
  complete(lease: Lease, result: Answer, settings: QueueSettings): Promise<CompleteVerdict> {
    return this.#completions.add(lease, result, settings);
  }

  /** Ends an attempt that did not succeed. Idempotent. @throws PaihaoError store-unavailable */
  async fail(lease: Lease, failure: Failure, settings: QueueSettings): Promise<FailVerdict> {
    const verdict = await this.#failures.add(lease, failure, settings);
    if (verdict === "retrying") this.noteDue(this.#homes.of(lease.id), failure.delayMs);
    return verdict;
  }

  /** Returns a task to its old place; the attempt does not count. @throws PaihaoError store-unavailable */
  release(lease: Lease, settings: QueueSettings): Promise<ReleaseVerdict> {
    return this.#batched.release({ ...lease, ...retentionOf(settings) });
  }

  /** Renews a lease; "cancel" and "deadline" ask the worker to stop, "stale" means that the lease is lost. */
  async renew(lease: Lease, leaseMs: number): Promise<Renewed["verdict"]> {
    const { verdict } = await this.#batched.renew({ ...lease, leaseMs });
    if (this.rests.isProbe(lease)) await this.rests.renewed(lease, leaseMs);
    return verdict;
  }

  /** The same, by the length that was requested over HTTP, else the queue's lease; returns that length. */
  renewAsTaken(lease: Lease): Promise<Renewed> {
    const { leaseMs } = this.settings(lease.queue);
    return this.#batched.renew({ ...lease, leaseMs, asTaken: true });
  }

  /** Hands back the tasks that a request has reserved in one partition. @throws PaihaoError store-unavailable */
  unreserve(partition: number, request: Reservation, by: Pick<RequestCopy, "holder" | "generation">): Promise<void> {
    return this.#reservations.unreserve(partition, request, by);
  }

  /** Cancels a task, or destroys the result of a finished one; only the one or the other, if that is said. */
  cancel(id: string, queue: string, only?: Cancellation["only"]): Promise<CancelVerdict> {
    return this.#batched.cancel({ id, call: newCall(), only, ...retentionOf(this.settings(queue)) });
  }

  /**
   * Reports that the handler of a suspect begins; its lease then lasts `leaseMs`. It must not begin unless the verdict is "ok".
   */
  begin(lease: Lease, leaseMs: number): Promise<BeginVerdict> {
    return this.#batched.begin({ ...lease, leaseMs });
  }

  /** Reports a task whose process died while it ran, although this worker is alive. */
  lose(lease: Lease, settings: QueueSettings): Promise<LoseVerdict> {
    return this.#batched.lose({ ...lease, ...lossOf(settings) });
  }

  /** Runs a dead task again, at the end of the line and with all its attempts. */
  retry(id: string): Promise<RetryVerdict> {
    return this.#batched.retry({ id, call: newCall() });
  }

  /**
   * Runs all dead tasks of a queue again; returns how many. Stops when the signal fires. @throws PaihaoError store-unavailable
   */
  retryAll(queue: string, signal?: AbortSignal): Promise<number> {
    return this.#deadLetters.retryAll(queue, signal);
  }

  /** Deletes all dead tasks of a queue; returns how many. Stops when the signal fires. @throws PaihaoError store-unavailable */
  forgetAll(queue: string, signal?: AbortSignal): Promise<number> {
    return this.#deadLetters.forgetAll(queue, signal);
  }

  /** Pauses or resumes a queue. */
  async pause(queue: string, paused: boolean): Promise<void> {
    await Promise.all(this.keys.tags.map((tag) => this.#scripts.pause(tag, queue, paused)));
  }

  /** The tasks of an index after a given place, over all partitions, in order. */
  page(index: Index, request: PageRequest): Promise<Page> {
    return pageOf(this.#scripts, this.keys, this.#homes, index, request);
  }

  /** The tasks of a queue that finished last, after a given place, over all partitions, the newest first. */
  finished(request: PageRequest): Promise<Page> {
    return finishedOf(this.#scripts, this.keys, this.#homes, request);
  }

  /** Keeps how far a running task is. */
  progress({ id, fence }: Lease, percent: number, message: string): Promise<"ok" | "stale"> {
    return this.#batched.progress({ id, fence, progress: `${percent} ${message}` });
  }

  /**
   * Cancels tasks past their deadline, promotes due ones, reclaims lost ones and purges old dead ones, in all queues of a partition,
   * with or without a handler here.
   * @param pausedMs how long this process has waited on purpose since its last tick, where that is longer than usual
   */
  async tick(partition: number, pausedMs?: number): Promise<Ticked> {
    const ticked = await this.#tick.run(partition, pausedMs);
    for (const queue of ticked.waiting)
      for (const listener of this.#workListeners.get(queue) ?? []) listener(partition);
    for (const { queue, fate } of ticked.lost) this.metrics.lost.count(queue, fate);
    return ticked;
  }

  /** The partitions in which the store refused the writes of the last tick, and why. */
  get refusals(): ReadonlyMap<number, string> {
    return this.#tick.refusals;
  }

  /**
   * Forgets in which partitions some tasks of keyed queues were that have gone, or were never stored; returns whether there may be more
   * of them.
   * @throws PaihaoError store-unavailable
   */
  checkPointers(partition: number): Promise<boolean> {
    return this.#homes.check(partition);
  }

  /** Adds to the histories of the queues in a partition; returns the ms until there is more to add. */
  async sampleHistories(partition: number): Promise<number> {
    return this.histories.sample(partition, await this.#tick.queuesOf(partition));
  }

  /**
   * Reports to every partition that a worker is alive, with its slots for each queue; `ttlMs` 0 removes it. Returns the ms
   * since a task of these queues last lost its worker, or infinity. `again`: every partition has been told the same before.
   */
  heartbeat(
    worker: string,
    ttlMs: number,
    slots: ReadonlyMap<string, number>,
    { about, again = false }: { readonly about?: AboutWorker; readonly again?: boolean } = {},
  ): Promise<number> {
    return heartbeatOf(this.#scripts, this.keys, { worker, ttlMs, slots, about, again });
  }

  /** The workers of queues, with the tasks that they have. */
  workers(queues: readonly string[]): ReturnType<typeof workersOf> {
    return workersOf(this.#scripts, this.keys, this.#homes, queues);
  }

  /** All queues: those with a handler here, then by name those of other processes and those without a handler in any. */
  get allQueues(): string[] {
    return [...this.queues.keys(), ...[...this.#tick.others.keys()].sort()];
  }

  /** Whether there is such a queue, with or without a handler here. */
  has(queue: string): boolean {
    return this.queues.has(queue) || this.#tick.others.has(queue);
  }

  /** Whether no process has a handler for a queue. */
  isOrphaned({ snapshot: { queue, workers } }: QueueRow): boolean {
    return workers === 0 && (this.#tick.others.get(queue) ?? 0) > ORPHANED_MS;
  }

  /** The figures of all queues; an orphaned one without tasks is left out. */
  async allFigures(): Promise<QueueRow[]> {
    const rows = await this.figures(this.allQueues);
    return rows.filter((row) => holdsTasks(row) || !this.isOrphaned(row));
  }

  /** The figures of queues, summed over the partitions, in the given order. */
  figures(names: readonly string[]): Promise<QueueRow[]> {
    return figuresOf(this.#scripts, this.keys, names);
  }
}
