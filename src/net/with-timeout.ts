/**
 * Waits at most `ms` for some work, which itself continues. The timer does not keep the process alive. An answer that arrived
 * while this process was busy still counts, although it can be read only after the time is up.
 * @param late makes the error for the timeout
 * @throws that error, or what the work throws
 */
export function withTimeout<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    // Timers run before sockets are read, immediates after that.
    const timer = setTimeout(() => setImmediate(() => reject(late())), ms).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
