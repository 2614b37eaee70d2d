import { isDeepStrictEqual } from "node:util";
import { type KubernetesObject, objectKey } from "../objects.ts";

interface Stored<Reduced> {
  readonly resourceVersion: string;
  readonly value: Reduced;
}

export interface ObjectStoreOptions<Reduced> {
  /** Undefined: not wanted. May throw, which counts as not wanted. */
  reduce(object: KubernetesObject): Reduced | undefined;
  onChange(key: string, after: Reduced | undefined, before: Reduced | undefined): void;
  onReduceFailure(key: string, failure: unknown): void;
}

/** A read of everything: what it did not name is gone. */
export interface Sweep {
  add(object: KubernetesObject): void;
  finish(): void;
}

/** The reduced objects of one kind. A value that is equal to the one before stays that one, and is not a change. */
export class ObjectStore<Reduced> {
  readonly #options: ObjectStoreOptions<Reduced>;
  readonly #stored = new Map<string, Stored<Reduced>>();
  readonly #recordings = new Set<Set<string>>();

  constructor(options: ObjectStoreOptions<Reduced>) {
    this.#options = options;
  }

  get size(): number {
    return this.#stored.size;
  }

  get(key: string): Reduced | undefined {
    return this.#stored.get(key)?.value;
  }

  /** Undefined for an object that is not there or not wanted. */
  resourceVersionOf(key: string): string | undefined {
    return this.#stored.get(key)?.resourceVersion;
  }

  *entries(): Generator<[string, Reduced], void, undefined> {
    for (const [key, { value }] of this.#stored) yield [key, value];
  }

  keys(): Iterable<string> {
    return this.#stored.keys();
  }

  put(object: KubernetesObject): void {
    const key = objectKey(object);
    const before = this.#stored.get(key);
    const value = this.#reduce(key, object);
    if (value === undefined) {
      this.remove(key);
      return;
    }
    this.#touch(key);
    const { resourceVersion = "" } = object.metadata;
    const isSame = before !== undefined && isDeepStrictEqual(before.value, value);
    this.#stored.set(key, { resourceVersion, value: isSame ? before.value : value });
    if (!isSame) this.#options.onChange(key, value, before?.value);
  }

  remove(key: string): void {
    const before = this.#stored.get(key);
    this.#touch(key);
    if (!this.#stored.delete(key)) return;
    this.#options.onChange(key, undefined, before?.value);
  }

  sweep(): Sweep {
    const left = new Set(this.#stored.keys());
    return {
      add: (object) => {
        const key = objectKey(object);
        left.delete(key);
        // The same version is the same object, except after a restore of the server, whose versions come again.
        this.put(object);
      },
      finish: () => {
        for (const key of left) this.remove(key);
      },
    };
  }

  /** The keys that events name from now on, until it is disposed. */
  recordTouched(): Disposable & { readonly touched: ReadonlySet<string> } {
    const touched = new Set<string>();
    this.#recordings.add(touched);
    return { touched, [Symbol.dispose]: () => void this.#recordings.delete(touched) };
  }

  /** Whether the object would be stored. */
  wants(object: KubernetesObject): boolean {
    return this.#reduce(objectKey(object), object) !== undefined;
  }

  #touch(key: string): void {
    for (const recording of this.#recordings) recording.add(key);
  }

  #reduce(key: string, object: KubernetesObject): Reduced | undefined {
    try {
      return this.#options.reduce(object);
    } catch (failure) {
      this.#options.onReduceFailure(key, failure);
      return undefined;
    }
  }
}
