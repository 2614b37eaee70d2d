import type { Socket } from "node:net";

/** The socket when the event came. On failure, on an early close and when the signal aborts it rejects, and the socket is destroyed. */
export function openedSocket<Kind extends Socket>(
  socket: Kind,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<Kind> {
  return new Promise((resolve, reject) => {
    const finish = (failure?: unknown) => {
      socket.off(event, onReady).off("error", finish).off("close", onClose);
      signal.removeEventListener("abort", onAbort);
      if (failure === undefined) return resolve(socket);
      socket.on("error", () => undefined).destroy();
      reject(failure);
    };
    const onReady = () => finish();
    const onClose = () => finish(new Error("the connection was closed by the peer"));
    const onAbort = () => finish(signal.reason);
    if (signal.aborted) return finish(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on(event, onReady).on("error", finish).on("close", onClose);
  });
}
