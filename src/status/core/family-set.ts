/**
 * Names already written, in bounded memory: a hostile body may name millions. Keeps 52-bit hashes; two names that share one (about one
 * chance in thirty thousand for a full set) make the later family count as a repetition, which leaves the document valid.
 */
export class FamilySet {
  #slots = new Float64Array(1024);
  #size = 0;

  has(name: string): boolean {
    return this.#slots[this.#find(hashOf(name))] !== 0;
  }

  /** False when there is no room for more names. */
  add(name: string): boolean {
    const hash = hashOf(name);
    const slot = this.#find(hash);
    if (this.#slots[slot] !== 0) return true;
    if (this.#size >= MAX_NAMES) return false;
    this.#slots[slot] = hash;
    if (++this.#size * 2 > this.#slots.length) this.#grow();
    return true;
  }

  #find(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash % this.#slots.length;
    while (this.#slots[slot] !== 0 && this.#slots[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Float64Array(old.length * 2);
    for (const hash of old) if (hash !== 0) this.#slots[this.#find(hash)] = hash;
  }
}

/** Four megabytes of hashes. */
const MAX_NAMES = 262_144;

function hashOf(name: string): number {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
  }
  return (low >>> 0) * 0x100000 + (high >>> 12) + 1;
}
