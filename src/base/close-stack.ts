type Closer = () => void | Promise<void>;

/** Anything the stack knows how to close. */
export type Closable = Closer | AsyncDisposable | { stop(): void | Promise<void> } | { close(): void | Promise<void> };

/**
 * Resources in the order they were opened; closing runs backwards, goes on after a failing close and reports all failures together.
 * Use with `await using` while starting, then `move()` to hand ownership to the finished component.
 */
export class CloseStack implements AsyncDisposable {
  #closers: Closer[] = [];

  /** Returns its argument, so that opening and registering is one expression. */
  add<Resource extends Closable>(resource: Resource): Resource {
    this.#closers.push(toCloser(resource));
    return resource;
  }

  defer(closer: Closer): void {
    this.#closers.push(closer);
  }

  /** The returned stack owns everything; this one is empty and may be disposed without effect. */
  move(): CloseStack {
    const owner = new CloseStack();
    owner.#closers = this.#closers;
    this.#closers = [];
    return owner;
  }

  /** Idempotent: a second call finds nothing left to close. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let closer = this.#closers.pop(); closer !== undefined; closer = this.#closers.pop()) {
      try {
        await closer();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} resources failed to close`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function toCloser(resource: Closable): Closer {
  if (typeof resource === "function") return resource;
  if ("stop" in resource) return () => resource.stop();
  if ("close" in resource) return () => resource.close();
  return async () => resource[Symbol.asyncDispose]();
}
