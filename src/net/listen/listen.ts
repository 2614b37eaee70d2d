import { chmodSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type ServerOpts, type Socket } from "node:net";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { joinHostPort } from "../host-port.ts";
import { ListenError } from "./listen-error.ts";
import { checkSocketPath, clearSocketPath, type ReplacePolicy } from "./unix-socket.ts";

export type ListenOptions =
  /** Without a host, or with an empty one: every address of both families. */
  | { readonly host?: string; readonly port: number }
  | {
      readonly path: string;
      /** Permissions of the socket file; 0o666 lets an Envoy of another user connect. */
      readonly mode?: number;
      readonly replace?: ReplacePolicy;
      /** Bound already: its first server takes it over. */
      readonly reserved?: ReservedSocket | undefined;
    };

export type ListenAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface Listener {
  readonly address: ListenAddress;
  readonly server: Server;
  /** Stops accepting and removes the socket file; connections live on. */
  close(): Promise<void>;
}

/** A unix socket that is bound before its server's code is loaded: clients that come early are not refused, they wait. */
export interface ReservedSocket extends AsyncDisposable {
  /** Once; undefined when it was taken or released before. From then on the listener's owner closes it. */
  take(onConnection: (socket: Socket) => void): Listener | undefined;
  /** Releases the path unless it was taken. */
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_MODE = 0o666;

/** Rejects with a ListenError and leaves nothing open. */
export async function listen(
  options: ListenOptions,
  onConnection: (socket: Socket) => void,
  socketOptions: Pick<ServerOpts, "pauseOnConnect" | "allowHalfOpen"> = {},
): Promise<Listener> {
  if ("path" in options) {
    const reserved = options.reserved?.take(onConnection);
    if (reserved !== undefined) return reserved;
    checkSocketPath(options.path);
    await clearSocketPath(options.path, options.replace ?? "stale");
  }
  // Nagle's delay would hold back the small frames of a call that waits for its answer.
  const server = createServer({ ...socketOptions, noDelay: true }, onConnection);
  await bind(server, options);
  if (!("path" in options)) {
    const { address, port } = server.address() as AddressInfo;
    return { address: { host: address, port }, server, close: () => close(server) };
  }
  try {
    chmodSync(options.path, options.mode ?? DEFAULT_MODE);
  } catch (cause) {
    await close(server);
    throw new ListenError("listen-failed", `cannot set the mode of ${options.path}: ${errorMessage(cause)}`, { cause });
  }
  return { address: { path: options.path }, server, close: () => close(server) };
}

export function addressText(address: ListenOptions | ListenAddress): string {
  return "path" in address ? `unix:${address.path}` : joinHostPort(address.host ?? "", address.port);
}

function bind(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const code = errorCode(cause) === "EADDRINUSE" ? "address-in-use" : "listen-failed";
      reject(new ListenError(code, `cannot listen on ${addressText(options)}: ${errorMessage(cause)}`, { cause }));
    });
    const onListening = () => {
      server.removeAllListeners("error");
      resolve();
    };
    if (!("path" in options)) return void server.listen(tcpAddress(options), onListening);
    // node binds at once: the file is never there with more rights than it is to have.
    const previous = process.umask(0o777 & ~(options.mode ?? DEFAULT_MODE));
    try {
      server.listen({ path: options.path }, onListening);
    } finally {
      process.umask(previous);
    }
  });
}

function tcpAddress({ host = "", port }: { readonly host?: string; readonly port: number }) {
  return host === "" ? { port } : { host, port };
}

/** node removes the file of a unix socket itself when the server closes. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => void server.close(() => resolve()));
}
