/** Keeps the page of a task up to date from its events (Server-Sent Events, which connect again by themselves). */
(() => {
  /** @typedef {import("../task/document.ts").MonitorDocument} Task */

  const TERMINAL = ["succeeded", "failed", "canceled"];

  /**
   * An element of the page, by its id and its kind.
   * @template {typeof HTMLElement} T
   * @param {string} id
   * @param {T} kind
   * @returns {InstanceType<T>}
   */
  function find(id, kind) {
    const found = document.getElementById(id);
    if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
    return /** @type {InstanceType<T>} */ (found);
  }

  /** @param {string} id */
  const element = (id) => find(id, HTMLElement);

  /**
   * Writes a text only where it changes: a screen reader reads it out each time.
   * @param {string} id
   * @param {string} text
   */
  function say(id, text) {
    if (element(id).textContent !== text) element(id).textContent = text;
  }

  const page = element("task");
  /** @type {Task} */
  let task = JSON.parse(page.dataset.task ?? "");
  /** @type {Record<string, string>} */
  const headlines = JSON.parse(page.dataset.headlines ?? "{}");
  /** When the estimate was made, by this browser's clock. */
  let seenAt = Date.now();

  /** @param {number} seconds */
  function duration(seconds) {
    if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
    const minutes = Math.round(seconds / 60);
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
    return `${Math.round(hours / 24)} days`;
  }

  function waitText() {
    const { eta, state } = task;
    if (TERMINAL.includes(state) || state === "running" || !eta) return "";
    const gone = (Date.now() - seenAt) / 1000;
    const left = eta.seconds - gone;
    if (left <= 0) return "Any moment now";
    const [low, high] = [Math.max(0, eta.low - gone), eta.high - gone];
    const range = high - low > Math.max(2, left / 5) ? ` (${duration(low)} to ${duration(high)})` : "";
    return `Starts in about ${duration(left)}${range}`;
  }

  function aheadText() {
    if (task.state !== "waiting" || task.index === null) return "";
    return task.index === 0 ? "Next in line" : `${task.index} before this one`;
  }

  function heldText() {
    return task.held && task.state === "waiting" ? "Waits for a task of the same key to end" : "";
  }

  function headline() {
    return task.cancelRequested && task.state === "running" ? "Stopping" : (headlines[task.state] ?? task.state);
  }

  function render() {
    const place = task.state === "waiting" && task.index !== null ? String(task.index + 1) : "";
    page.dataset.state = task.state;
    say("headline", headline());
    say("place", place);
    element("place").classList.toggle("long", place.length > 4);
    say("ahead", aheadText());
    say("wait", waitText());
    say("detail", task.error?.message ?? task.progress?.message ?? heldText());
    const bar = find("progress", HTMLProgressElement);
    if (task.progress) bar.value = task.progress.percent;
    else bar.removeAttribute("value");
    const link = task.links.find((l) => l.rel === "result");
    if (link) find("result", HTMLAnchorElement).href = link.href;
    element("until").dataset.shown = String(task.deadlineAt !== null && !TERMINAL.includes(task.state));
    if (task.deadlineAt) showTime("deadline", task.deadlineAt);
    element("expiry").hidden = task.state !== "succeeded" || !task.expiresAt;
    if (task.expiresAt) showTime("expires", task.expiresAt);
    document.title = place ? `${place}. in line` : headline();
  }

  /**
   * @param {string} id
   * @param {string} iso
   */
  function showTime(id, iso) {
    find(id, HTMLTimeElement).dateTime = iso;
    say(id, new Date(iso).toLocaleString());
  }

  /** @param {Task} news */
  function update(news) {
    task = news;
    seenAt = Date.now();
    render();
  }

  /** An estimate of progress grows by itself, without being an event: it is asked for now and then. */
  async function refresh() {
    if (task.state !== "running" || (task.progress && !task.progress.estimated)) return;
    const monitor = task.links.find((link) => link.rel === "monitor");
    if (!monitor) return;
    try {
      const response = await fetch(monitor.href, { headers: { Accept: "application/json" } });
      const news = response.ok ? await response.json() : task;
      // The end is told by its event.
      if (news.state === "running" && task.state === "running") update(news);
    } catch {
      // The events say that the connection is lost.
    }
  }

  showTime("created", task.createdAt);
  render();
  if (TERMINAL.includes(task.state)) return;

  const source = new EventSource(page.dataset.events ?? "");
  const clock = setInterval(() => say("wait", waitText()), 1000);
  source.onopen = () => {
    element("live").hidden = false;
    element("trouble").hidden = true;
  };
  source.onerror = () => {
    element("live").hidden = true;
    element("trouble").hidden = false;
    // Refused for good, for one because the task was destroyed: the server says so on the page itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
  };
  const progress = setInterval(refresh, 5000);
  source.addEventListener("status", (event) => update(JSON.parse(event.data)));
  source.addEventListener("done", (event) => {
    source.close();
    clearInterval(clock);
    clearInterval(progress);
    update(JSON.parse(event.data));
    element("live").hidden = true;
    // Who asked to be sent on to the result is sent there by the server.
    if (/[?&]oncomplete=/i.test(location.search)) location.reload();
  });
})();
