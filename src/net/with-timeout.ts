/**
 * Waits for work no longer than so many ms; the work itself goes on. Keeps no process alive.
 * @param late makes the error for when the time is up
 * @throws that error, or what the work throws
 */
export function withTimeout<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
