import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../testbed/root.ts";

/** What a newcomer asks, where it is answered, and words of the answer. */
const QUESTIONS: readonly (readonly [question: string, document: string, words: string])[] = [
  ["How do I try it?", "README.md", "npm install && npm start"],
  ["Do I need a Redis to try it?", "README.md", "embedded Valkey"],
  ["When should I not use it?", "README.md", "## When not to use it"],
  ["How do I write a handler in TypeScript?", "docs/handlers.md", "defineHandler({"],
  ["Where does the server find my handlers?", "docs/handlers.md", "the directory that `HANDLERS` names"],
  ["How do I refuse an input?", "docs/handlers.md", "throw giveUp({"],
  ["How do I report progress?", "docs/handlers.md", "task.progress(10"],
  ["How do I test a handler?", "docs/testing.md", "runHandler("],
  [
    "How do I wait for the result in the same request?",
    "docs/calling.md",
    "Without `Prefer` the response is the result",
  ],
  ["How do I submit and collect later?", "docs/calling.md", "`Prefer: respond-async` answers 202"],
  ["How do I avoid submitting twice?", "docs/calling.md", "Idempotency-Key"],
  ["How do I cancel?", "docs/calling.md", "-X DELETE"],
  ["How long is a result kept?", "docs/calling.md", "kept for `RESULT_TTL`"],
  ["How do I show the place in line in a web page?", "docs/waiting-room.md", "EventSource"],
  ["How do I call it from TypeScript?", "docs/client.md", "new PaihaoClient"],
  ["How do I call it from Python?", "docs/use-from.md", "python.py"],
  ["What happens if a worker dies?", "docs/delivery.md", "| a worker |"],
  ["Is anything lost if Redis crashes?", "docs/delivery.md", "appendfsync"],
  ["Does a task run exactly once?", "docs/delivery.md", "at least once"],
  ["What is a dead task?", "docs/concepts.md", "| dead task, dead letter |"],
  ["What are a lease and a fence?", "docs/concepts.md", "| fence |"],
  ["How do I run dead tasks again?", "docs/operations.md", "paihao dead retry"],
  ["How do I stop it without losing work?", "docs/operations.md", "Send SIGTERM"],
  ["How do I back it up?", "docs/operations.md", "## Back up"],
  ["How do I upgrade?", "docs/upgrading.md", "one by one"],
  ["How do I deploy it?", "docs/deploy.md", "docker compose up"],
  ["Are there Kubernetes manifests?", "deploy/README.md", "helm install"],
  ["Which Redis do I need?", "docs/deploy.md", "Which Redis"],
  ["How do I secure it?", "docs/security.md", "paihao keys create"],
  ["Who sees my tasks?", "docs/security.md", "| `submit` |"],
  ["How much memory do I need?", "docs/capacity.md", "npm run capacity"],
  ["How many workers do I need?", "docs/capacity.md", "worker processes"],
  ["How do I scale it?", "docs/scaling.md", "## More processes"],
  ["How fast is it?", "docs/performance.md", "BullMQ"],
  ["An alert has fired: what now?", "docs/runbook.md", "**Do.**"],
  ["What does this error mean?", "docs/errors.md", "**What to do.**"],
  ["How do I run something every day?", "docs/recurring.md", "crontab"],
  ["How do I stream words of a model?", "docs/recipes.md", "task.write(word)"],
  ["How do callers take turns?", "docs/recipes.md", "fair:"],
  ["How do I keep the order of an account?", "docs/recipes.md", "keyed:"],
  ["What about large files?", "docs/recipes.md", "## Big files"],
  ["How do I write a worker in Python?", "docs/workers.md", "/leases"],
  ["How do I put a line in front of an API that I have?", "docs/gateway.md", "defineGateway("],
  ["Why not BullMQ?", "docs/comparison.md", "## BullMQ"],
  ["How do I move from BullMQ?", "docs/from-bullmq.md", "## Move over"],
  ["What may change with the next version?", "docs/versioning.md", "Semantic Versioning"],
];

describe("what a newcomer asks", () => {
  const clicks = clicksFrom("README.md");

  for (const [question, document, words] of QUESTIONS) {
    it(`is answered within two clicks of README.md: ${question}`, () => {
      expect(readFileSync(join(ROOT, document), "utf8")).to.contain(words);
      expect(clicks.get(document), document).to.be.at.most(2);
    });
  }
});

/** How many links lead from a document to each other one. */
function clicksFrom(first: string): ReadonlyMap<string, number> {
  const clicks = new Map([[first, 0]]);
  for (const [document, distance] of clicks) {
    const text = readFileSync(join(ROOT, document), "utf8");
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s#]+\.md)/g)) {
      const target = relative(ROOT, join(ROOT, dirname(document), link));
      if (!/^[a-z]+:/.test(link) && existsSync(join(ROOT, target)) && !clicks.has(target))
        clicks.set(target, distance + 1);
    }
  }
  return clicks;
}
