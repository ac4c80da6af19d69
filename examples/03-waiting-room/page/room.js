const [headline, number, detail, take] = ["headline", "number", "detail", "take"].map((id) =>
  document.getElementById(id),
);

take.addEventListener("click", async () => {
  const response = await fetch("/tickets", { method: "POST" });
  if (!response.ok) {
    detail.textContent = "We cannot take anyone just now. Please try again in a minute.";
    return;
  }
  const { events } = await response.json();
  // A reload keeps the place.
  sessionStorage.setItem("ticket", events);
  follow(events);
});

const ticket = sessionStorage.getItem("ticket");
if (ticket) follow(ticket);

/** Shows a task until it ends; an EventSource connects again by itself. */
function follow(events) {
  take.hidden = true;
  const source = new EventSource(events);
  source.addEventListener("status", (event) => show(JSON.parse(event.data)));
  source.addEventListener("done", (event) => {
    source.close();
    sessionStorage.removeItem("ticket");
    end(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    // Refused for good: the link has expired, or the task is gone. (If the page is just being left, the ticket stays.)
    if (source.readyState === EventSource.CLOSED) end({ state: "unknown" });
  });
}

function show(task) {
  const waits = task.state === "waiting";
  headline.textContent = waits ? "Your place in line" : "It is your turn";
  number.textContent = waits ? task.index + 1 : "";
  detail.textContent = waits ? waitOf(task.eta) : (task.progress?.message ?? "");
}

function waitOf(eta) {
  if (!eta) return "";
  const minutes = Math.ceil(eta.high / 60);
  return minutes <= 1 ? "Less than a minute" : `At most about ${minutes} minutes`;
}

function end(task) {
  const done = task.state === "succeeded";
  headline.textContent = done ? "Come in" : "That did not work";
  number.textContent = done ? task.result.table : "";
  detail.textContent = done ? "is your table." : "Please take another number.";
  take.hidden = done;
}
