import { errorMessage } from "../../base/coded-error.ts";
import { silentLogger } from "../../base/logger.ts";
import { untilAborted, wait } from "../../base/wait.ts";
import { createGrpcChannel, implement, startGrpcServer } from "../../grpc/index.ts";
import { type HttpResponse, httpRequest } from "../../net/http-client/http-request.ts";
import { shopPage } from "./front-page.ts";
import { CALL_MS, type DemoAppOptions, servePage } from "./serve-page.ts";
import { catalogueOf, quoteMethod } from "./shop-services.ts";

/** One application of the demo shop; runs until the signal. It knows nothing of a mesh but its environment. */
type DemoApp = (options: DemoAppOptions) => Promise<void>;

const APPS: Readonly<Record<string, DemoApp>> = {
  front: runFront,
  catalogue: (options) => servePage(options, async () => catalogueOf(options.env.MESH_VERSION ?? "v1")),
  stock: (options) =>
    servePage(options, async () => ({ servedBy: options.env.MESH_WORKLOAD, pieces: { tea: 12, coffee: 7, cocoa: 3 } })),
  prices: runPrices,
  load: runLoad,
  "proxyless-front": async (options) => (await import("./proxyless-apps.ts")).runProxylessFront(options),
  "proxyless-catalogue": async (options) => (await import("./proxyless-apps.ts")).runProxylessCatalogue(options),
  "proxyless-prices": async (options) => (await import("./proxyless-apps.ts")).runProxylessPrices(options),
};

export const DEMO_APPS: readonly string[] = Object.keys(APPS);

export function runDemoApp(name: string, options: DemoAppOptions): Promise<void> {
  const app = APPS[name];
  if (app === undefined) throw new Error(`there is no demo application ${name}; there are ${DEMO_APPS.join(", ")}`);
  return app(options);
}

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
  const ask = async () => {
    const answers = await Promise.allSettled([get("CATALOGUE"), get("STOCK"), quote()]);
    const [shown, stock, price] = answers.map((answer) =>
      answer.status === "fulfilled" ? answer.value : { error: errorMessage(answer.reason) },
    );
    return { shop: env.MESH_WORKLOAD, catalogue: shown, stock, price };
  };
  await servePage(options, ask, (answer) => shopPage(answer, env.MESH_CONSOLE_URL));
}

function failed({ status, body }: HttpResponse): never {
  throw new Error(`${status} ${body.trim()}`);
}

async function runPrices({ env, signal }: DemoAppOptions): Promise<void> {
  const servedBy = env.MESH_WORKLOAD ?? "prices";
  await using _server = await startGrpcServer({
    listen: { host: env.HOST ?? "127.0.0.1", port: Number(env.PORT) },
    log: silentLogger,
    methods: [implement(quoteMethod, async ({ product }) => ({ cents: BigInt(100 + product.length), servedBy }))],
  });
  await untilAborted(signal);
}

const LOAD_EVERY_MS = 100;
const PRINT_EVERY = 50;

/** Ten requests a second to the front; prints now and then which catalogue answered. */
async function runLoad({ env, signal, print }: DemoAppOptions): Promise<void> {
  let [asked, failures] = [0, 0];
  let versions: Record<string, number> = {};
  while (!signal.aborted) {
    try {
      const { status, body } = await httpRequest({ url: `${env.FRONT_URL}/`, timeoutMs: 2 * CALL_MS, signal });
      // Envoy's own answers are a line of text.
      if (status !== 200) throw new Error(`the front answers ${status}: ${body.trim().split("\n")[0]}`);
      const { catalogue: shown } = JSON.parse(body) as { readonly catalogue?: { readonly version?: string } };
      const version = shown?.version ?? "error";
      versions[version] = (versions[version] ?? 0) + 1;
    } catch (thrown) {
      if (signal.aborted) break;
      failures += 1;
      if (failures % PRINT_EVERY === 1) print(errorMessage(thrown));
    }
    asked += 1;
    if (asked % PRINT_EVERY === 0) {
      print(`${asked} requests, ${failures} failed; catalogue of the last ${PRINT_EVERY}: ${JSON.stringify(versions)}`);
      versions = {};
    }
    await wait(LOAD_EVERY_MS, signal);
  }
}
