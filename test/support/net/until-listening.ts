import { once } from "node:events";
import { connect } from "node:net";
import { until } from "../wait/until.ts";

/** Waits until a unix socket takes connections: its file is there a moment earlier. */
export function untilListening(path: string): Promise<void> {
  return until(`somebody listens on ${path}`, async () => {
    const socket = connect(path);
    try {
      await once(socket, "connect");
    } finally {
      socket.destroy();
    }
  });
}
