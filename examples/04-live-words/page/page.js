import { readEvents } from "./events.js";

const api = document.querySelector("meta[name=paihao]").content;
const form = document.querySelector("form");
const state = document.querySelector("#state");
const words = document.querySelector("#words");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const about = new FormData(form).get("about");
  const response = await fetch(`${api}/v1/queues/words/requests`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ about }),
  });
  if (!response.ok) {
    state.textContent = (await response.json()).title;
    return;
  }
  let run = 0;
  words.textContent = "";
  for await (const { name, data } of readEvents(response)) {
    if (name === "output") {
      // A new start of the task writes everything anew.
      if (data.run > run) words.textContent = "";
      run = data.run;
      words.append(`${data.data} `);
    } else {
      state.textContent = data.state === "waiting" ? `${data.index} before you` : data.state;
    }
  }
});
