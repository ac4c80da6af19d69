/** Asks for an API key. */

import { html, useRef, useState } from "../../preact.js";
import { ask, key, messageOf, ServerError } from "../server/server.js";

/** @typedef {import("../server/wire.js").Access} Access */

/** What may be a key at all. */
const KEY = /^[\x21-\x7e]+$/;

/** @param {{ reason: string, onAccess: (access: Access) => void }} props `reason`: why it is asked for, "" at first */
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
