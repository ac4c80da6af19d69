/** Asks for the attention of who waits: by a sound, and by a notification where the browser shows one. Browsers allow both only after a click. */

/** When each tone of a ring begins, and its pitch: seconds, Hz. */
const TONES = /** @type {const} */ ([
  [0, 660],
  [0.2, 880],
]);
const TONE_S = 0.35;
const RING_S = 1;
/** How often it rings. */
const RINGS = 4;

/** Rings once, so that a person knows the sound; returns what rings when the time has come. */
export async function prepareAttention() {
  const audio = new AudioContext();
  await audio.resume();
  ring(audio, 1);
  // There is none in a page that is not secure, and the sound is enough.
  if ("Notification" in window && Notification.permission === "default") await Notification.requestPermission();
  /** @param {string} title @param {string} body */
  return (title, body) => {
    ring(audio, RINGS);
    if (!("Notification" in window) || Notification.permission !== "granted" || document.hasFocus()) return;
    try {
      const shown = new Notification(title, { body });
      shown.onclick = () => window.focus();
    } catch {
      // Some browsers on phones show only notifications of service workers.
    }
  };
}

/** @param {AudioContext} audio @param {number} times */
function ring(audio, times) {
  for (let n = 0; n < times; n += 1) {
    for (const [afterS, pitch] of TONES) tone(audio, audio.currentTime + n * RING_S + afterS, pitch);
  }
}

/** @param {AudioContext} audio @param {number} at @param {number} pitch */
function tone(audio, at, pitch) {
  const [source, volume] = [audio.createOscillator(), audio.createGain()];
  source.frequency.value = pitch;
  // It begins and ends softly, without a click.
  volume.gain.setValueAtTime(0, at);
  volume.gain.linearRampToValueAtTime(0.3, at + 0.02);
  volume.gain.linearRampToValueAtTime(0, at + TONE_S);
  source.connect(volume).connect(audio.destination);
  source.start(at);
  source.stop(at + TONE_S);
}
