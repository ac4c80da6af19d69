/** Scripts without spaces between words, which are segmented by a dictionary. */
const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{scx=${script}}`)
  .join("");
/** A letter or digit of any other script, and the characters that may follow within a word, including a soft hyphen. */
const FIRST = `(?![${UNSPACED}])[\\p{L}\\p{N}]`;
const NEXT = `(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}\\u00AD]`;
/** A run of an unspaced script, or one word of another: don’t, e-mail, 3.14 and 1,000 are one word each. */
const RUN_OR_WORD = new RegExp(`([${UNSPACED}]+)|${FIRST}(?:${NEXT}|['’.‐_-](?=[\\p{L}\\p{N}])|,(?=\\p{N}))*`, "gu");
const SEGMENTER = new Intl.Segmenter("und", { granularity: "word" });
/**
 * The time that V8 needs to segment a text grows with the square of its length; in pieces of this size it segments about 5 M
 * characters a second.
 */
const PIECE = 512;
/** Silent reading of English non-fiction, Brysbaert 2019 (10.1016/j.jml.2019.104047). */
const WORDS_PER_MINUTE = 238;

/** Counts the words of a text in any language. */
export function countWords(text: string): number {
  let words = 0;
  for (const [, run] of text.matchAll(RUN_OR_WORD)) {
    if (run === undefined) words++;
    // A word cut by the end of a piece is counted twice, at most one in a few hundred.
    else for (let at = 0; at < run.length; at += PIECE) words += countSegments(run.slice(at, at + PIECE));
  }
  return words;
}

function countSegments(text: string): number {
  let words = 0;
  for (const segment of SEGMENTER.segment(text)) if (segment.isWordLike) words++;
  return words;
}

/** Seconds in which an adult reads this many words, rounded up. */
export function readingTime(words: number): number {
  return Math.ceil((words * 60) / WORDS_PER_MINUTE);
}
