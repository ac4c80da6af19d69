import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { Ahead } from "../../../../src/extras/gateway/door/openai.ts";
import { fakeTime } from "../../../helpers/fake-time.ts";
import { Api, type Asked, openDoor, type TestDoor } from "./door.ts";
import { Wire } from "./relaying.ts";

const SSE = { "Content-Type": "text/event-stream" };
const ask = (path: string, stream = true) => ({
  path,
  sent: {
    method: "POST",
    headers: { "Content-Type": "application/json", "Accept-Encoding": "gzip" },
    body: JSON.stringify({ stream }),
  },
});

describe("a door for clients of OpenAI's API", () => {
  let api: Api;
  let door: TestDoor;
  beforeEach(async () => {
    api = await Api.start();
  });
  afterEach(async () => {
    await door.stop();
    await api.stop();
  });
  const call = ({ path, sent }: ReturnType<typeof ask>) => door.call(path, sent);
  const hold = async (count: number) => {
    const callers = Array.from({ length: count }, () => door.call("/hold/before"));
    const asked: Asked[] = [];
    for (const _ of callers) asked.push(await api.next());
    return async () => {
      for (const { response } of asked) response.end();
      await Promise.all(callers.map(({ answer }) => answer));
    };
  };

  it("tells a stream that waits its place, then passes on what the API says; others are told nothing", async () => {
    door = await openDoor(api.url, { speaks: "openai" });
    const first = door.call("/hold/before");
    const before = await api.next();
    const second = door.call("/hold/before");
    await door.until(1, 1);
    const begun = performance.now();
    const { path, sent } = ask("/hold/v1/chat/completions");
    // As `curl -d` sends it.
    const stream = door.call(path, {
      ...sent,
      headers: { ...sent.headers, "Content-Type": "application/x-www-form-urlencoded" },
    });
    await door.until(1, 2);
    const whole = call(ask("/hold/v1/chat/completions", false));
    const ollama = call(ask("/api/chat"));
    await door.until(1, 4);
    const head = await stream.head;
    expect(performance.now() - begun).to.be.within(1900, 3000);
    expect([head.statusCode, head.headers["content-type"]]).to.deep.equal([200, "text/event-stream"]);
    expect(head.headers["x-request-id"]).to.be.a("string");
    before.response.end();
    await first.answer;
    await delay(1500);
    (await api.next()).response.end();
    await second.answer;
    const { line, headers, response } = await api.next();
    expect([line, headers["accept-encoding"]]).to.deep.equal(["POST /hold/v1/chat/completions", undefined]);
    const events = 'data: {"a":1}\n\n: theirs\r\n\r\ndata: [DONE]\n\n';
    response.writeHead(200, SSE).end(events);
    const { text } = await stream.answer;
    expect(text.endsWith(events)).to.equal(true);
    const told = text.slice(0, -events.length);
    expect(told).to.match(/^(?:: [^\n]+\n\n){2,3}$/);
    expect(told)
      .to.match(/^: 2 before you/)
      .and.match(/\n: 1 before you/);
    (await api.next()).response.end("whole");
    const { headers: wholeHeaders, text: wholeText } = await whole.answer;
    expect([wholeText, wholeHeaders["x-queue-waited"]]).to.match(/^whole,\d/);
    expect((await ollama.answer).text).to.equal("ok");
    await door.expectFree();
  });

  it("ends a stream that has begun as the API's answer ends: an error, JSON, a broken connection, none at all", async () => {
    door = await openDoor(api.url, { speaks: "openai", slots: 6 });
    const release = await hold(6);
    const paths = ["error", "text", "json", "broken", "unanswered", "chunks", "long"].map((name) => `/hold/${name}`);
    const callers = paths.map((path) => call(ask(path)));
    const raw = new Wire(door.port).write(
      "POST /hold/reset HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Length: 0\r\n\r\n",
    );
    await door.until(6, 8);
    await Promise.all(callers.map(({ head }) => head));
    await raw.until(": ");
    await release();
    const whole = JSON.stringify({ id: 1, text: "x".repeat(100_000) });
    const answers: Record<string, (asked: Asked) => void> = {
      error: ({ response }) => response.writeHead(400).end('{"error":{"message":"no such model"}}'),
      text: ({ response }) => response.writeHead(500).end("it\nfailed"),
      json: ({ response }) => response.writeHead(200, { "Content-Type": "application/json" }).end(whole),
      long: ({ response }) => response.writeHead(200).end(Buffer.alloc(2 * 1024 ** 2, "1")),
      broken: ({ response }) => response.writeHead(200, SSE).write("data: 1\n\n", () => response.destroy()),
      unanswered: ({ request }) => request.destroy(),
      chunks: ({ response }) => response.writeHead(200, SSE).end("data: 2\n\n"),
      reset: ({ response }) =>
        response.writeHead(200, SSE).write("data: 3\n\n", () => setTimeout(() => response.destroy(), 50)),
    };
    for (let n = 0; n < 8; n += 1) {
      const asked = await api.next();
      answers[asked.line.split("/").at(-1) ?? ""]?.(asked);
    }
    const dataOf = async (n: number) => JSON.parse(((await callers[n]?.answer)?.text ?? "").split("data: ")[1] ?? "");
    expect(await dataOf(0)).to.deep.equal({ error: { message: "no such model" } });
    expect((await dataOf(1)).error).to.include({ message: "it\nfailed", type: "server_error", code: "status-500" });
    expect(JSON.stringify(await dataOf(2))).to.equal(whole);
    for (const n of [3, 6]) {
      const broken = await callers[n]?.answer.catch((error: NodeJS.ErrnoException) => error.code);
      expect(broken).to.equal("ECONNRESET");
    }
    expect((await dataOf(4)).error).to.include({ code: "no-answer", param: null, mayHaveBeenCarriedOut: true });
    expect(await dataOf(5)).to.equal(2);
    expect(await raw.closed).to.equal("ECONNRESET");
    expect(raw.text)
      .to.include("data: 3")
      .and.not.match(/\r\n0\r\n\r\n$/);
    await door.expectFree();
  });

  it("keeps the place of a stream that has begun while the API cannot be reached, and tells it of other ends", async () => {
    door = await openDoor(api.url, { speaks: "openai" });
    const { port } = api;
    await api.stop();
    const kept = call(ask("/kept"));
    await kept.head;
    api = await Api.start(port);
    expect((await kept.answer).text).to.match(/^: .*\n\ndata: ok\n\n$/s);
    await api.next();
    await door.stop();
    door = await openDoor(api.url, { speaks: "openai", maxWait: "2500ms" });
    const release = await hold(1);
    const late = call(ask("/late"));
    const { text } = await late.answer;
    expect(JSON.parse(text.split("data: ")[1] ?? "").error).to.include({ code: "line-too-long", type: "server_error" });
    await release();
    await door.expectFree();
  });

  it("answers with errors in its form, and says which requests may not be repeated", async () => {
    door = await openDoor(api.url, { speaks: "openai" }, { MAX_WAITING: "1" });
    const first = door.call("/hold/1");
    const asked = await api.next();
    const second = door.call("/2");
    await door.until(1, 1);
    const full = await door.send("/3");
    expect([full.status, full.json.error.code, full.headers["x-should-retry"]]).to.deep.equal([
      503,
      "queue-full",
      undefined,
    ]);
    expect(Number(full.headers["retry-after"])).to.be.greaterThan(0);
    asked.request.destroy();
    const broken = await first.answer;
    expect([broken.status, broken.json.error.code]).to.deep.equal([502, "no-answer"]);
    expect(broken.headers["x-should-retry"]).to.equal("false");
    expect((await second.answer).text).to.equal("ok");
    await door.expectFree();
  });
});

describe("news of a place in line", () => {
  it("are told at once, on a change at most once a second, and else every ten seconds", async () => {
    const time = fakeTime();
    try {
      const written: string[] = [];
      const response = { writeHead: () => undefined, write: (text: string) => written.push(text.trim()) };
      const ahead = new Ahead(response as never, []);
      const tell = (place: number) => ahead.tell({ ahead: place, eta: null });
      tell(3);
      expect(written).to.deep.equal([": 3 before you"]);
      tell(2);
      tell(1);
      await time.pass(900);
      expect(written.length).to.equal(1);
      await time.pass(200);
      expect(written.slice(1)).to.deep.equal([": 1 before you"]);
      tell(1);
      await time.pass(9800);
      expect(written.length).to.equal(2);
      await time.pass(10_400);
      expect(written.slice(2)).to.deep.equal([": 1 before you", ": 1 before you"]);
      ahead.rest();
      await time.pass(20_000);
      expect(written.length).to.equal(4);
    } finally {
      time.end();
    }
  });
});
