import { readFileSync } from "node:fs";
import { errorMessage } from "../../base/coded-error.ts";
import { silentLogger } from "../../base/logger.ts";
import { untilAborted } from "../../base/wait.ts";
import {
  createGrpcChannel,
  type GrpcChannel,
  type Implementation,
  implement,
  type Method,
  type ServerCall,
  startGrpcServer,
} from "../../grpc/index.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";
import { shopPage } from "./front-page.ts";
import { CALL_MS, type DemoAppOptions, servePage } from "./serve-page.ts";
import { catalogueOf, listMethod, quoteMethod } from "./shop-services.ts";
import { type RoutedCluster, type Routing, type RoutingSource, watchRouting } from "./watch-routing.ts";

/** Beside the application, in the folder of its agent. */
const AGENT_SOCKET = "unix:etc/istio/proxy/XDS";
const BOOTSTRAP = "etc/istio/proxy/grpc-bootstrap.json";
const CERTIFICATES = { folder: "certs" };

/** The shop's front without a sidecar: it asks its agent where to call and makes the TLS connections itself. */
export async function runProxylessFront(options: DemoAppOptions): Promise<void> {
  const { env, print } = options;
  const { node } = JSON.parse(readFileSync(BOOTSTRAP, "utf8")) as {
    readonly node: { readonly id: string; readonly metadata: JsonObject };
  };
  const source = { agent: AGENT_SOCKET, node, onProblem: print };
  await using catalogue = createRoutedClient(env.CATALOGUE_TARGET ?? "", source, CERTIFICATES);
  await using prices = createRoutedClient(env.PRICES_TARGET ?? "", source, CERTIFICATES);
  const ask = async () => {
    const answers = await Promise.allSettled([
      catalogue.unary(listMethod, { language: "en" }, CALL_MS),
      prices
        .unary(quoteMethod, { product: "tea" }, CALL_MS)
        .then(({ cents, servedBy }) => ({ cents: Number(cents), servedBy })),
    ]);
    const [shown, price] = answers.map((each) =>
      each.status === "fulfilled" ? each.value : { error: errorMessage(each.reason) },
    );
    return { shop: env.MESH_WORKLOAD, catalogue: shown, price };
  };
  await servePage(options, ask, (answer) => shopPage(answer, env.MESH_CONSOLE_URL));
}

export function runProxylessCatalogue(options: DemoAppOptions): Promise<void> {
  const shown = catalogueOf(options.env.MESH_VERSION ?? "v1");
  return serveMutual(
    options,
    implement(listMethod, async (_, call) => ({ ...shown, caller: callerOf(call) })),
  );
}

export function runProxylessPrices(options: DemoAppOptions): Promise<void> {
  const servedBy = options.env.MESH_WORKLOAD ?? "prices";
  return serveMutual(
    options,
    implement(quoteMethod, async ({ product }) => ({ cents: BigInt(100 + product.length), servedBy })),
  );
}

/** Only callers with a certificate of the mesh. */
async function serveMutual({ env, signal }: DemoAppOptions, method: Implementation): Promise<void> {
  await using _server = await startGrpcServer({
    listen: { host: env.HOST ?? "127.0.0.1", port: Number(env.PORT) },
    log: silentLogger,
    tls: () => ({ ...readCertificates(CERTIFICATES), requestCert: true, rejectUnauthorized: true }),
    methods: [method],
  });
  await untilAborted(signal);
}

function callerOf({ peer }: ServerCall): string {
  return peer.tls?.certificate?.subjectAltName?.replace(/^URI:/, "") ?? "";
}

/** Calls one service without a sidecar: route, endpoint and TLS are the client's own work. */
interface RoutedClient extends AsyncDisposable {
  unary<Request, Response>(
    method: Method<"unary", Request, Response>,
    request: Request,
    timeoutMs: number,
  ): Promise<Response>;
}

/** Files that the agent keeps fresh. */
interface CertificateFiles {
  readonly folder: string;
}

function createRoutedClient(
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
function readCertificates({ folder }: CertificateFiles): {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
} {
  const read = (name: string) => readFileSync(`${folder}/${name}`, "utf8");
  return { key: read("key.pem"), cert: read("cert-chain.pem"), ca: read("root-cert.pem") };
}
