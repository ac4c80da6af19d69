/**
 * Waits at most `ms` for some work, which itself continues. The timer does not keep the process alive.
 * @param late makes the error for the timeout
 * @throws that error, or what the work throws
 */
export function withTimeout<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
