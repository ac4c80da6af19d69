// Loaded before a process under test. SIGUSR2 begins a CPU profile; the next one ends it, and writes it to the file PROFILE.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector";

/** Between two samples, µs. */
const INTERVAL = 500;

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.setSamplingInterval", { interval: INTERVAL });
let begun = false;
process.on("SIGUSR2", () => {
  if (!begun) session.post("Profiler.start");
  else session.post("Profiler.stop", (_, { profile }) => writeFileSync(process.env.PROFILE, JSON.stringify(profile)));
  begun = !begun;
});
