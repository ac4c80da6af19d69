/** Least number of entries set between two renewals: fewer than are set between two minor collections. */
const RENEW_AFTER = 64;

/**
 * A Map whose entries change many thousand times a second. When a Map outgrows its table, or fills it with deleted entries, V8
 * links the old table to the new one. Once such a table is in the old generation, everything added to the Map since stays alive
 * until a major collection, with all that it references. Replacing the Map now and then breaks the chain.
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
    // After four times as many entries as are copied: on average, an entry set costs at most a quarter of a copy.
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
