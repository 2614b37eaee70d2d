export type InboxEvent<Request> =
  | { readonly type: "request"; readonly request: Request }
  | { readonly type: "changed"; readonly names: readonly string[] }
  | { readonly type: "end" };

/**
 * What a stream has to do next: a request first, then secrets that changed. Requests are taken from the network one by one, so that a
 * client which floods is held back by its own flow control window; changes are a set, so that a client which does not read costs one
 * entry for each name it watches.
 */
export class Inbox<Request> {
  readonly #changed = new Set<string>();
  #request: { readonly value: Request; readonly taken: () => void } | undefined;
  #end: { readonly failure: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** Feeds the requests until they end; never rejects: `next` reports how they ended. */
  async pump(requests: AsyncIterable<Request>): Promise<void> {
    try {
      for await (const value of requests) {
        if (this.#end !== undefined) return;
        await new Promise<void>((taken) => {
          this.#request = { value, taken };
          this.#notify();
        });
      }
      this.#finish(undefined);
    } catch (failure) {
      this.#finish(failure);
    }
  }

  changed(name: string): void {
    if (this.#end !== undefined) return;
    this.#changed.add(name);
    this.#notify();
  }

  /** Throws what ended the requests, unless they ended cleanly. */
  async next(): Promise<InboxEvent<Request>> {
    for (;;) {
      const request = this.#request;
      if (request !== undefined) {
        this.#request = undefined;
        request.taken();
        return { type: "request", request: request.value };
      }
      if (this.#end !== undefined) {
        if (this.#end.failure !== undefined) throw this.#end.failure;
        return { type: "end" };
      }
      if (this.#changed.size > 0) {
        const names = [...this.#changed];
        this.#changed.clear();
        return { type: "changed", names };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The stream is over: nobody will call `next` again. */
  close(): void {
    this.#finish(undefined);
    this.#request?.taken();
    this.#request = undefined;
  }

  #finish(failure: unknown): void {
    this.#end ??= { failure };
    this.#notify();
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
