import { type Finding, failure, ok, warning } from "./finding.ts";

const CHECK = "node";
/** The oldest version that works, and the oldest that still gets fixes. */
const OLDEST = { working: [20, 19], maintained: 22 } as const;

/** Whether the server runs in this version of Node. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [minMajor, minMinor] = OLDEST.working;
  const advice = "install Node 24, or 22";
  if (major < minMajor || (major === minMajor && minor < minMinor)) {
    return failure(CHECK, `Node ${version} is too old: ${OLDEST.working.join(".")} or later is needed`, advice);
  }
  if (major < OLDEST.maintained)
    return warning(CHECK, `Node ${version} works, but gets no more security fixes`, advice);
  return ok(CHECK, `Node ${version}`);
}
