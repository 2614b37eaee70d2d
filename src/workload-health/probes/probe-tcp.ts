import { connect } from "node:net";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { joinHostPort } from "../../net/host-port.ts";
import type { ProbeResult } from "../core/health-state.ts";

/** In the words of Go programs. A listener that closes resets what it has not accepted yet. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  ECONNRESET: "connect: connection reset by peer",
};

/** Healthy when a connection can be made. */
export function probeTcp(host: string, port: number, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const address = joinHostPort(host, port);
    const socket = connect({ host, port });
    const finish = (result: ProbeResult) => {
      signal.removeEventListener("abort", expire);
      socket.destroy();
      resolve(result);
    };
    const fail = (why: string) => finish({ healthy: false, message: `dial tcp ${address}: ${why}` });
    const expire = () => fail("i/o timeout");
    socket.on("error", (thrown) => fail(WORDS[errorCode(thrown) ?? ""] ?? errorMessage(thrown)));
    socket.once("connect", () => finish({ healthy: true }));
    signal.addEventListener("abort", expire, { once: true });
    if (signal.aborted) expire();
  });
}
