import { readFileSync } from "node:fs";

/** The start time where the system does not report one. */
export const UNKNOWN_BIRTH = "0";

/**
 * When a process started, as a text that distinguishes it from other processes with the same id: ids are reused, in containers
 * after every restart. Only Linux reports it without running another program; elsewhere it is `"0"`.
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
 * Whether a process is running; a zombie is not.
 * @param birth its earlier {@link birthOf}, to exclude another process with the same id
 */
export function isRunning(pid: number, birth = UNKNOWN_BIRTH): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it exists, but belongs to another user.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  try {
    if (statOf(pid)[0] === "Z") return false;
  } catch {
    // There is no /proc, or the process has just ended: the result of the signal counts.
  }
  const current = birthOf(pid);
  return birth === UNKNOWN_BIRTH || current === UNKNOWN_BIRTH || birth === current;
}

/** The fields of /proc/<pid>/stat from the third, the state; the second, a name in brackets, may contain anything. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
