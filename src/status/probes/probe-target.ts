import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { joinHostPort } from "../../net/host-port.ts";
import { isIP } from "../../net/ip.ts";

/** Where the application listens and from which address it is asked. */
export interface ProbeTarget {
  readonly host: string;
  /** Captured traffic rules let this source through; undefined: the system's choice. */
  readonly localAddress: string | undefined;
}

/** Connection options for a port of the application. */
export function socketOptions({ host, localAddress }: ProbeTarget, port: number) {
  return {
    host: host === "" ? "localhost" : host,
    port,
    ...(localAddress !== undefined && { localAddress }),
    // A source address fixes the family; for a name it has to be asked for.
    ...(localAddress !== undefined && isIP(host) === 0 && { family: isIP(localAddress) }),
    autoSelectFamily: localAddress === undefined,
  };
}

/** Resolves when the connection is up. Rejects when it fails or the signal aborts first; nothing stays open then. */
export function connectTcp(target: ProbeTarget, port: number, signal: AbortSignal): Promise<Socket & Duplex> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = connect(socketOptions(target, port));
    const abort = () => socket.destroy(new Error("i/o timeout"));
    signal.addEventListener("abort", abort, { once: true });
    socket.once("close", () => signal.removeEventListener("abort", abort));
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // From here its user listens; until then an error must not end the process.
      socket.on("error", () => undefined);
      signal.removeEventListener("abort", abort);
      resolve(socket);
    });
  });
}

/** `host:port`, with brackets around IPv6. */
export function hostPort(host: string, port: number): string {
  return joinHostPort(host === "" ? "localhost" : host, port);
}
