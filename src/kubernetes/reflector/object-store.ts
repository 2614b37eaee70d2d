import { isDeepStrictEqual } from "node:util";
import { type ApiObject, objectKey } from "../objects.ts";

export interface ObjectStoreOptions<Reduced> {
  /** Undefined: not wanted. May throw, which counts as not wanted. */
  reduce(object: ApiObject): Reduced | undefined;
  onChange(key: string, after: Reduced | undefined, before: Reduced | undefined): void;
  /** The version of what is stored, also where it says the same as before; undefined when it is gone. Before `onChange`. */
  onVersion?(key: string, resourceVersion: string | undefined): void;
  onReduceFailure(key: string, failure: unknown): void;
}

/** A read of everything: what it did not name is gone. */
export interface Sweep {
  add(object: ApiObject): void;
  finish(): void;
}

/** The reduced objects of one kind. A value that is equal to the one before stays that one, and is not a change. */
export class ObjectStore<Reduced> {
  readonly #options: ObjectStoreOptions<Reduced>;
  readonly #stored = new Map<string, Reduced>();
  readonly #recordings = new Set<Set<string>>();

  constructor(options: ObjectStoreOptions<Reduced>) {
    this.#options = options;
  }

  get size(): number {
    return this.#stored.size;
  }

  get(key: string): Reduced | undefined {
    return this.#stored.get(key);
  }

  entries(): IterableIterator<[string, Reduced]> {
    return this.#stored.entries();
  }

  keys(): Iterable<string> {
    return this.#stored.keys();
  }

  put(object: ApiObject): void {
    const key = objectKey(object);
    const before = this.#stored.get(key);
    const value = this.#reduce(key, object);
    if (value === undefined) {
      this.remove(key);
      return;
    }
    this.#touch(key);
    this.#options.onVersion?.(key, object.metadata.resourceVersion);
    if (before !== undefined && isDeepStrictEqual(before, value)) return;
    this.#stored.set(key, value);
    this.#options.onChange(key, value, before);
  }

  remove(key: string): void {
    const before = this.#stored.get(key);
    this.#touch(key);
    if (!this.#stored.delete(key)) return;
    this.#options.onVersion?.(key, undefined);
    this.#options.onChange(key, undefined, before);
  }

  sweep(): Sweep {
    const left = new Set(this.#stored.keys());
    return {
      add: (object) => {
        left.delete(objectKey(object));
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

  /** Whether what is stored is what this object would leave. */
  isSame(key: string, object: ApiObject): boolean {
    return isDeepStrictEqual(this.#stored.get(key), this.#reduce(key, object));
  }

  #touch(key: string): void {
    for (const recording of this.#recordings) recording.add(key);
  }

  #reduce(key: string, object: ApiObject): Reduced | undefined {
    try {
      return this.#options.reduce(object);
    } catch (failure) {
      this.#options.onReduceFailure(key, failure);
      return undefined;
    }
  }
}
