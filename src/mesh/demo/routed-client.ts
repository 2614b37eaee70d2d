import { readFileSync } from "node:fs";
import { createGrpcChannel, type GrpcChannel, type Method } from "../../grpc/index.ts";
import type { RoutedCluster, Routing } from "./watch-routing.ts";
import { type RoutingSource, watchRouting } from "./watch-routing.ts";

/** Calls one service without a sidecar: route, endpoint and TLS are the client's own work. */
export interface RoutedClient extends AsyncDisposable {
  unary<Request, Response>(
    method: Method<"unary", Request, Response>,
    request: Request,
    timeoutMs: number,
  ): Promise<Response>;
}

/** Files that the agent keeps fresh. */
export interface CertificateFiles {
  readonly folder: string;
}

export function createRoutedClient(
  target: string,
  source: Omit<RoutingSource, "signal">,
  files: CertificateFiles,
): RoutedClient {
  const ending = new AbortController();
  const channels = new Map<string, GrpcChannel>();
  let routing: Routing | undefined;
  let turn = 0;
  const watching = watchRouting(target, { ...source, signal: ending.signal }, (fresh) => {
    routing = fresh;
  });
  return {
    async unary(method, request, timeoutMs) {
      const cluster = pick(routing, Math.random());
      const address = cluster?.endpoints[turn % Math.max(1, cluster.endpoints.length)];
      turn += 1;
      if (cluster === undefined || address === undefined) throw new Error(`no endpoint of ${target} is known yet`);
      const key = `${address} ${cluster.peerNames}`;
      const channel = channels.get(key) ?? openChannel(address, cluster, files);
      channels.set(key, channel);
      return channel.unary(method, request, { timeoutMs });
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await watching;
      for (const channel of channels.values()) await channel[Symbol.asyncDispose]();
    },
  };
}

/** By weight; `random` is 0..1. */
export function pick(routing: Routing | undefined, random: number): RoutedCluster | undefined {
  const clusters = routing?.clusters ?? [];
  let left = random * clusters.reduce((sum, { weight }) => sum + weight, 0);
  return clusters.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
}

function openChannel(address: string, { peerNames }: RoutedCluster, files: CertificateFiles): GrpcChannel {
  if (peerNames === undefined) return createGrpcChannel(address);
  return createGrpcChannel(address, {
    tls: () => ({
      ...readCertificates(files),
      // Names of hosts say nothing in a mesh: the server shows who it is by its SPIFFE name.
      checkServerIdentity: (_, { subjectaltname = "" }) => {
        const shown = subjectaltname.split(", ").map((name) => name.replace(/^URI:/, ""));
        if (peerNames.some((name) => shown.includes(name))) return undefined;
        return new Error(`${address} is ${subjectaltname}, expected ${peerNames.join(" or ")}`);
      },
    }),
  });
}

/** Read for every handshake, so that renewed ones are used. */
export function readCertificates({ folder }: CertificateFiles): {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
} {
  const read = (name: string) => readFileSync(`${folder}/${name}`, "utf8");
  return { key: read("key.pem"), cert: read("cert-chain.pem"), ca: read("root-cert.pem") };
}
