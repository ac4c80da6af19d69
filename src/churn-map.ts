/** Entries set between two renewals, at least. */
const RENEW_AFTER = 1000;

/**
 * A Map for what comes and goes many thousand times a second. V8 links each table that a Map has outgrown, or filled with what
 * was deleted, to the next one. Once such a table is old, all that went through the Map since then stays until a major
 * collection, and with it whatever it refers to. A new Map now and then breaks the chain.
 */
export class ChurnMap<K, V> implements Iterable<[K, V]> {
  #map = new Map<K, V>();
  #set = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    this.#set += 1;
    // In proportion to what is copied: each entry is, on average, at most a quarter of a time.
    if (this.#set >= RENEW_AFTER && this.#set >= 4 * this.#map.size) {
      this.#map = new Map(this.#map);
      this.#set = 0;
    }
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }
}
