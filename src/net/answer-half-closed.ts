import type { Server } from "node:http";

/**
 * Who has sent its request may close its half at once (`nc -N`, old HTTP clients) and still reads. One that left for good looks the same
 * until something is sent to it: an answer that never comes must not keep its connection.
 */
export function answerHalfClosed(server: Server, limitMs: number): void {
  // Absent from the types, and the only way: by default node cuts such a connection before its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket) => {
    socket.once("end", () => {
      const sentBytes = socket.bytesWritten;
      const limit = setTimeout(() => socket.bytesWritten === sentBytes && socket.destroy(), limitMs);
      socket.once("close", () => clearTimeout(limit));
    });
  });
}
