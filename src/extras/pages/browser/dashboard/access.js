/** Who looks at the page, and what they may do. */

import { useEffect, useState } from "../preact.js";
import { ask, key, ServerError } from "./server/server.js";

/** @typedef {import("./server/wire.js").Access} Access */

/** The time between two tries while the server does not answer, ms. */
const AGAIN_MS = 2000;

/** @param {unknown} error */
export const isSignedOut = (error) => error instanceof ServerError && error.status === 401;

/** The access that the server grants; null if it needs a key, or another one than is known; undefined before that is known. */
export function useAccess() {
  const [access, setAccess] = useState(/** @type {Access | null | undefined} */ (undefined));
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    async function look() {
      try {
        setAccess(await ask("/v1/access"));
      } catch (error) {
        if (isSignedOut(error)) setAccess(null);
        else timer = setTimeout(() => void look(), AGAIN_MS);
      }
    }
    void look();
    return () => clearTimeout(timer);
  }, []);
  return {
    access,
    setAccess,
    signOut() {
      key.set("");
      setAccess(null);
    },
  };
}
