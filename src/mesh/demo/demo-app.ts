import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorMessage } from "../../base/coded-error.ts";
import { type HttpAnswer, httpRequest } from "../../base/http-request.ts";
import { silentLogger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import { createGrpcChannel, implement, startGrpcServer } from "../../grpc/index.ts";
import { quoteMethod } from "./prices-service.ts";

export interface DemoAppOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  print(line: string): void;
}

export const DEMO_APPS = ["front", "catalogue", "stock", "prices", "load"] as const;
export type DemoAppName = (typeof DEMO_APPS)[number];

/** One application of the demo shop; runs until the signal. It knows nothing of a mesh but its environment. */
export async function runDemoApp(name: DemoAppName, options: DemoAppOptions): Promise<void> {
  switch (name) {
    case "front":
      return runFront(options);
    case "catalogue":
      return serve(options, async () => catalogue(options.env.MESH_VERSION ?? "v1"));
    case "stock":
      return serve(options, async () => ({
        servedBy: options.env.MESH_WORKLOAD,
        pieces: { tea: 12, coffee: 7, cocoa: 3 },
      }));
    case "prices":
      return runPrices(options);
    case "load":
      return runLoad(options);
  }
}

/** What changes from version to version: the names of the products. */
function catalogue(version: string): object {
  const products = { v1: ["tea", "coffee"], v2: ["tea", "coffee", "cocoa"], v3: ["green tea", "coffee", "cocoa"] };
  return { version, products: products[version as keyof typeof products] ?? products.v1 };
}

const CALL_MS = 3000;

/** Asks the others for every page and says what each of them answered, the identity that the mesh vouches for included. */
async function runFront(options: DemoAppOptions): Promise<void> {
  const { env } = options;
  await using prices = createGrpcChannel(`${env.PRICES_HOST}:${env.PRICES_PORT}`);
  const get = async (service: string): Promise<object> => {
    const answer = await httpRequest({ url: `${env[`${service}_URL`]}/`, timeoutMs: CALL_MS });
    return answer.status === 200 ? (JSON.parse(answer.body) as object) : failed(answer);
  };
  const quote = async () => {
    const { cents, servedBy } = await prices.unary(quoteMethod, { product: "tea" }, { timeoutMs: CALL_MS });
    return { cents: Number(cents), servedBy };
  };
  await serve(options, async () => {
    const answers = await Promise.allSettled([get("CATALOGUE"), get("STOCK"), quote()]);
    const [shown, stock, price] = answers.map((answer) =>
      answer.status === "fulfilled" ? answer.value : { error: errorMessage(answer.reason) },
    );
    return { shop: env.MESH_WORKLOAD, catalogue: shown, stock, price };
  });
}

function failed({ status, body }: HttpAnswer): never {
  throw new Error(`${status} ${body.trim()}`);
}

async function runPrices({ env, signal }: DemoAppOptions): Promise<void> {
  const servedBy = env.MESH_WORKLOAD ?? "prices";
  await using _server = await startGrpcServer({
    listen: { host: env.HOST ?? "127.0.0.1", port: Number(env.PORT) },
    log: silentLogger,
    methods: [implement(quoteMethod, async ({ product }) => ({ cents: BigInt(100 + product.length), servedBy }))],
  });
  await ended(signal);
}

async function serve(options: DemoAppOptions, page: () => Promise<object>): Promise<void> {
  const { env, signal, print } = options;
  const server = createServer((request, response) => {
    answer(request, response, page).catch((thrown: unknown) => {
      print(errorMessage(thrown));
      response.writeHead(500).end();
    });
  });
  // Envoy keeps its connections for an hour; a server that closes them first would race with a request.
  server.keepAliveTimeout = 2 * 3600 * 1000;
  await new Promise<void>((ready, refused) => {
    server.once("error", refused);
    server.listen(Number(env.PORT), env.HOST, ready);
  });
  print(`listening on ${env.HOST}:${env.PORT}`);
  await ended(signal);
  await new Promise<void>((closed) => {
    server.close(() => closed());
    server.closeAllConnections();
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, page: () => Promise<object>): Promise<void> {
  // Who calls, as the sidecar read it from the caller's certificate.
  const caller = /URI=([^;,]+)/.exec(String(request.headers["x-forwarded-client-cert"] ?? ""))?.[1];
  const body = { ...(await page()), ...(caller === undefined ? {} : { caller }) };
  response.writeHead(200, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}

const LOAD_EVERY_MS = 100;
const TELL_EVERY = 50;

/** Ten requests a second to the front; tells now and then which catalogue answered. */
async function runLoad({ env, signal, print }: DemoAppOptions): Promise<void> {
  let [asked, failures] = [0, 0];
  let versions: Record<string, number> = {};
  while (!signal.aborted) {
    try {
      const { status, body } = await httpRequest({ url: `${env.FRONT_URL}/`, timeoutMs: 2 * CALL_MS, signal });
      const { catalogue: shown } = JSON.parse(body) as { readonly catalogue?: { readonly version?: string } };
      const version = status === 200 ? (shown?.version ?? "error") : `status ${status}`;
      versions[version] = (versions[version] ?? 0) + 1;
    } catch (thrown) {
      if (signal.aborted) break;
      failures += 1;
      if (failures % TELL_EVERY === 1) print(errorMessage(thrown));
    }
    asked += 1;
    if (asked % TELL_EVERY === 0) {
      print(`${asked} requests, ${failures} failed; catalogue of the last ${TELL_EVERY}: ${JSON.stringify(versions)}`);
      versions = {};
    }
    await wait(LOAD_EVERY_MS, signal);
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
