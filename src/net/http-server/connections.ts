import type { Socket } from "node:net";
import { wait } from "../../base/wait.ts";

/** The connections of a server: every open one, those that wait for a request, and those whose request is not answered yet. */
export class Connections {
  readonly #open = new Set<Socket>();
  /** The one that has waited longest first. */
  readonly #waiting = new Set<Socket>();
  readonly #busy = new Map<Socket, number>();
  readonly #drained = new AbortController();
  readonly #max: number;
  #isClosing = false;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * False when there is no room for it, and it is closed. Of a full server the connection that has waited longest for a request makes
   * room: clients that hold connections without a use for them must not keep out those that have one.
   */
  admit(socket: Socket): boolean {
    if (this.#open.size >= this.#max && !this.#closeLongestWaiting()) {
      socket.destroy();
      return false;
    }
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    return true;
  }

  /** With TLS not the socket that was admitted, but the one inside. */
  awaitRequest(socket: Socket): void {
    this.#waiting.add(socket);
    socket.once("close", () => {
      this.#waiting.delete(socket);
      this.#leave(socket);
    });
  }

  track(socket: Socket, response: { once(event: "close", listener: () => void): unknown }): void {
    this.#waiting.delete(socket);
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (this.#busy.get(socket) ?? 1) - 1;
      if (left > 0) return void this.#busy.set(socket, left);
      this.#leave(socket);
      if (!socket.destroyed) this.#waiting.add(socket);
      if (this.#isClosing) socket.destroySoon();
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    if (this.#busy.size > 0) await wait(graceMs, this.#drained.signal);
    for (const socket of this.#open) socket.destroy();
  }

  #closeLongestWaiting(): boolean {
    const [longest] = this.#waiting;
    if (longest === undefined) return false;
    this.#waiting.delete(longest);
    longest.destroy();
    return true;
  }

  #leave(socket: Socket): void {
    this.#busy.delete(socket);
    if (this.#isClosing && this.#busy.size === 0) this.#drained.abort();
  }
}
