import type { CloseStack } from "../base/close-stack.ts";
import { type GrpcServer, type GrpcServerOptions, startGrpcServer } from "../grpc/index.ts";
import { ListenError } from "../net/listen/listen-error.ts";
import type { PortOption } from "../settings/discovery-settings.ts";

export interface GrpcPort {
  readonly servers: readonly GrpcServer[];
}

/**
 * Serves one port. Without a host: on the loopback addresses of both families for plaintext, on every address for TLS. A machine without
 * IPv6 is served on IPv4 alone.
 */
export async function listenGrpc(
  { host, port }: PortOption,
  options: Omit<GrpcServerOptions, "listen">,
  opened: CloseStack,
): Promise<GrpcPort> {
  const start = async (at: string, on: number) =>
    opened.add(await startGrpcServer({ ...options, listen: { host: at, port: on } }));
  if (host !== "") return { servers: [await start(host, port)] };
  if (options.tls !== undefined) {
    const all = await start("::", port).catch((thrown: unknown) => ipv4Instead(thrown, () => start("0.0.0.0", port)));
    return { servers: [all] };
  }
  const first = await start("127.0.0.1", port);
  const bound = "port" in first.address ? first.address.port : port;
  // A taken port matters only when it was asked for; a free one for IPv4 may be taken for IPv6.
  const second = await start("::1", bound).catch((thrown: unknown) => {
    if (port !== 0 && thrown instanceof ListenError && thrown.code === "address-in-use") throw thrown;
    return undefined;
  });
  return { servers: second === undefined ? [first] : [first, second] };
}

function ipv4Instead(thrown: unknown, start: () => Promise<GrpcServer>): Promise<GrpcServer> {
  if (thrown instanceof ListenError && thrown.code !== "address-in-use") return start();
  throw thrown;
}
