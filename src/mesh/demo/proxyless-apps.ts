import { readFileSync } from "node:fs";
import { errorMessage } from "../../base/coded-error.ts";
import { silentLogger } from "../../base/logger.ts";
import { untilAborted } from "../../base/wait.ts";
import { type Implementation, implement, type ServerCall, startGrpcServer } from "../../grpc/index.ts";
import type { JsonObject } from "../../protobuf/wire/struct.ts";
import { createRoutedClient, readCertificates } from "./routed-client.ts";
import { CALL_MS, type DemoAppOptions, servePage } from "./serve-page.ts";
import { catalogueOf, listMethod, quoteMethod } from "./shop-services.ts";

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
  await servePage(options, async () => {
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
  });
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
