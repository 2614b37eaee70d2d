/**
 * Programs of a mesh in which every action can be measured: `front` and `guest` ask `reviews` what they are asked to ask, and say what came back.
 * One script, which the environment tells what to be.
 */
export const ASK_APP = `import http from "node:http";
const { PORT, ROLE, SERVICE_VERSION = "", REVIEWS_URL, RATES_URL } = process.env;
const seen = new Map();
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
async function ask(target, headers) {
  const began = performance.now();
  try {
    const url = target.startsWith("/rates") ? new URL(RATES_URL) : new URL(target, REVIEWS_URL);
    const answer = await fetch(url, { headers });
    return { status: answer.status, body: await answer.text(), ms: performance.now() - began };
  } catch (thrown) {
    return { status: 0, body: String(thrown.cause ?? thrown), ms: performance.now() - began };
  }
}
const roles = {
  async caller({ searchParams }, headers) {
    const targets = Array.from({ length: Number(searchParams.get("times") ?? 1) }, () => searchParams.get("target"));
    const canary = headers["x-canary"] === undefined ? {} : { "x-canary": headers["x-canary"] };
    return { status: 200, body: JSON.stringify(await Promise.all(targets.map((target) => ask(target, canary)))) };
  },
  async reviews({ pathname, searchParams }) {
    await sleep(Number(searchParams.get("ms") ?? 0));
    const count = (seen.get(searchParams.get("id")) ?? 0) + 1;
    seen.set(searchParams.get("id"), count);
    const fails = pathname === "/flaky" && count < 3;
    return { status: fails ? 500 : 200, body: SERVICE_VERSION };
  },
};
http.createServer(async (request, response) => {
  const { status, body } = await roles[ROLE](new URL(request.url, "http://localhost"), request.headers);
  response.writeHead(status).end(body);
}).listen(Number(PORT), process.env.HOST);
`;

/** `rates` runs outside of the mesh, at that port of the machine. */
export function askMeshFile(ratesPort: number): string {
  const caller = "command: node ask.mjs, env: {ROLE: caller}";
  return `namespace: shop
mtls: permissive
services:
  front: {port: 8480, entry: true, calls: [reviews, rates], ${caller}}
  guest: {port: 8481, entry: true, calls: [reviews], ${caller}}
  reviews:
    port: 8480
    command: node ask.mjs
    env: {ROLE: reviews}
    calls: []
    versions: {v1: {env: {SERVICE_VERSION: v1}}, v2: {env: {SERVICE_VERSION: v2}}}
  rates: {port: 8482, address: "127.0.0.1:${ratesPort}"}
config:
  - apiVersion: networking.istio.io/v1
    kind: DestinationRule
    metadata: {name: reviews}
    spec:
      host: reviews.shop.svc.cluster.local
      subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
  - apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: reviews}
    spec:
      hosts: [reviews.shop.svc.cluster.local]
      http: [{route: [{destination: {host: reviews.shop.svc.cluster.local, subset: v1}}]}]
`;
}

export interface Asked {
  /** 0 where no answer came. */
  readonly status: number;
  readonly body: string;
  readonly ms: number;
}

/** What a caller of the mesh gets when it sends requests for the target, all at once. */
export async function ask(
  entry: string,
  target: string,
  { times = 1, headers = {} }: { readonly times?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<readonly Asked[]> {
  const answer = await fetch(`${entry}/?target=${encodeURIComponent(target)}&times=${times}`, { headers });
  return (await answer.json()) as readonly Asked[];
}
