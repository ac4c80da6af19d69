import { readFileSync } from "node:fs";

/** Stands for a start time that the system does not tell. */
export const UNKNOWN_BIRTH = "0";

/**
 * When a process started, as a word that no other process with the same id will have: ids are used again, in containers
 * after every restart. Only Linux tells it without another program; elsewhere it is `"0"`.
 */
export function birthOf(pid: number): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
    return `${boot}.${statOf(pid)[19] ?? UNKNOWN_BIRTH}`;
  } catch {
    return UNKNOWN_BIRTH;
  }
}

/**
 * Whether a process runs; one that has ended but was not yet collected by its parent does not.
 * @param birth its {@link birthOf} from earlier, where another process with the same id must not count
 */
export function isRunning(pid: number, birth = UNKNOWN_BIRTH): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, but another user's.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  try {
    if (statOf(pid)[0] === "Z") return false;
  } catch {
    // No /proc here, or it has just ended: what the signal said stands.
  }
  const current = birthOf(pid);
  return birth === UNKNOWN_BIRTH || current === UNKNOWN_BIRTH || birth === current;
}

/** The fields of /proc/<pid>/stat from the third on, the state; the second, a name in brackets, may hold anything. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
