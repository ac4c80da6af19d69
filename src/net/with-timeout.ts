/**
 * Waits for work no longer than so many ms; it goes on by itself. Keeps no process alive.
 * @param reason what is said when the time is up
 * @throws Error with that reason, or what the work throws
 */
export function within<T>(ms: number, work: Promise<T>, reason: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(reason())), ms).unref();
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
