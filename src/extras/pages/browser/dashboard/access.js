/** Who looks at the page, and what they may do. */

import { html, useEffect, useRef, useState } from "../preact.js";
import { ask, key, messageOf, ServerError } from "./api.js";

/** @typedef {import("./api.js").Access} Access */

/** What may be a key at all. */
const KEY = /^[\x21-\x7e]+$/;
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

/** Asks for an API key. @param {{ reason: string, onAccess: (access: Access) => void }} props `reason`: why it is asked for, "" at first */
export function SignIn({ reason, onAccess }) {
  const [trouble, setTrouble] = useState(reason);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const given = field.current?.value.trim() ?? "";
    try {
      if (!KEY.test(given)) throw new ServerError(401, "");
      const access = await ask("/v1/access", { headers: { Authorization: `Bearer ${given}` } });
      key.set(given);
      onAccess(access);
    } catch (error) {
      const isWrong = error instanceof ServerError && error.status === 401;
      setTrouble(isWrong ? "This server does not know this key." : messageOf(error));
      field.current?.select();
    }
  }
  return html`
    <main id="view" class="sign-in" tabindex="-1">
      <form class="panel" onSubmit=${submit}>
        <h1>Sign in</h1>
        <p class="hint" id="api-key:hint">What you see and may do here depends on the scopes of your API key: read to look, admin to act. It is kept in this tab until the tab is closed.</p>
        <div class="field">
          <label for="api-key">API key</label>
          <input id="api-key" ref=${field} name="key" type="password" required autofocus autocomplete="off" spellcheck=${false} placeholder="ph_…"
            aria-invalid=${trouble === "" ? null : "true"} aria-describedby="api-key:error api-key:hint" />
          <p class="bad" id="api-key:error" role="alert">${trouble}</p>
        </div>
        <div class="buttons"><button type="submit" class="primary">Sign in</button></div>
      </form>
    </main>`;
}
