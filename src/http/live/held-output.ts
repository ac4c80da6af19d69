/** Most characters of long pages that wait in a process for readers to take them, over all readers. */
const MOST_HELD = 64 * 1024 ** 2;

/** Room for a page that is sent to a reader, or the wait for it. */
export interface Claim {
  /** Whether there is room. */
  readonly granted: boolean;
  /** The reader has taken the page, or has gone; idempotent. */
  release(): void;
}

/**
 * Limits what a process holds for slow readers of output: a long page is sent only when there is room for it. Readers wait first
 * come, first served; one whose page is longer than all of the room goes alone.
 */
export class HeldOutput {
  readonly #most: number;
  readonly #line = new Set<PageClaim>();
  #held = 0;

  constructor(most = MOST_HELD) {
    this.#most = most;
  }

  /** Claims room for a page of so many characters; `go` is called when there is some, if there is none now. */
  claim(length: number, go: () => void): Claim {
    const claim = new PageClaim(Math.min(length, this.#most), go, (given) => this.#release(given));
    this.#line.add(claim);
    this.#admit(claim);
    return claim;
  }

  #release(claim: PageClaim): void {
    if (claim.granted) this.#held -= claim.length;
    this.#line.delete(claim);
    this.#admit();
  }

  /** @param newcomer is told by its claim alone */
  #admit(newcomer?: PageClaim): void {
    for (const claim of this.#line) {
      if (this.#held + claim.length > this.#most) return;
      this.#line.delete(claim);
      this.#held += claim.length;
      claim.granted = true;
      if (claim !== newcomer) claim.go();
    }
  }
}

class PageClaim implements Claim {
  granted = false;
  #released = false;
  readonly length: number;
  readonly go: () => void;
  readonly #release: (claim: PageClaim) => void;

  constructor(length: number, go: () => void, release: (claim: PageClaim) => void) {
    this.length = length;
    this.go = go;
    this.#release = release;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#release(this);
  }
}
