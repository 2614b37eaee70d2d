/** The part of a stream that decides which one is primary. */
export interface RegisteredStream {
  readonly id: number;
  /** Known once the first request has come. */
  readonly isEnvoy: boolean;
  /** The stream has asked for listeners, so the control plane knows its node and takes requests without one. */
  readonly isIntroduced: boolean;
  /** Called when the stream becomes the one that carries the agent's own subscriptions, once introduced. */
  becomePrimary(): void;
  /** Called when another stream, or none, carries them from now on. */
  resignPrimary(): void;
}

/**
 * All streams at once, each with its own upstream. One of them, the primary, carries what the agent itself subscribes to and reports:
 * the newest introduced Envoy (in a hot restart the new one takes over), else the oldest introduced other client.
 */
export class StreamRegistry<Stream extends RegisteredStream> {
  readonly #streams = new Set<Stream>();
  #primary: Stream | undefined;

  get primary(): Stream | undefined {
    return this.#primary;
  }

  get all(): readonly Stream[] {
    return [...this.#streams];
  }

  get size(): number {
    return this.#streams.size;
  }

  add(stream: Stream): void {
    this.#streams.add(stream);
  }

  /** To be called when a stream has been introduced, or is no longer. */
  reconsider(): void {
    const introduced = this.all.filter((stream) => stream.isIntroduced);
    const chosen = introduced.findLast((stream) => stream.isEnvoy) ?? introduced[0];
    const before = this.#primary;
    if (chosen === before) return;
    this.#primary = chosen;
    // In this order: what the previous one still receives must not replace what the next one is sent.
    before?.resignPrimary();
    chosen?.becomePrimary();
  }

  remove(stream: Stream): void {
    this.#streams.delete(stream);
    this.reconsider();
  }
}
