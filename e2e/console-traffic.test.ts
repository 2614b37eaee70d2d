import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import type { GraphSnapshot } from "../src/console/api.ts";
import { httpRequest } from "../src/net/http-client/http-request.ts";
import { startChromium, type TestBrowser } from "../test/support/console/chromium.ts";
import { openConsole as openClient } from "../test/support/console/console-client.ts";
import { openConsole } from "../test/support/console/real-console.ts";
import { type MeshRun, startMeshRun } from "../test/support/mesh/run.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

interface Place {
  readonly mesh: MeshRun;
  readonly browser: TestBrowser;
  /** Requests through the gateway, and to the program without Envoy. */
  through(path: string): Promise<string>;
  front(): Promise<string>;
}

/** Asks a program without Envoy over gRPC for every page; closes the connection instead of an answer where it is asked to. */
const WEB = `import http from "node:http";
import { connect } from "node:http2";
const session = connect(process.env.CATALOGUE_URL);
http.createServer((request, response) => {
  if (request.url === "/gone") return request.socket.destroy();
  const call = session.request({ ":method": "POST", ":path": "/shop.Catalogue/List", "content-type": "application/grpc", te: "trailers" });
  call.resume().on("error", () => undefined).on("close", () => response.end("a page"));
  call.end(Buffer.alloc(5));
}).listen(Number(process.env.PORT), process.env.HOST);
`;

function meshFile(gate: number, front: number, grpc: number): string {
  const app = (name: string) => `command: eval exec "$PILOT_AGENT" mesh demo-app ${name}`;
  const mutual = (name: string) => `
  - apiVersion: networking.istio.io/v1
    kind: DestinationRule
    metadata: {name: ${name}}
    spec: {host: ${name}.pair.svc.cluster.local, trafficPolicy: {tls: {mode: ISTIO_MUTUAL}}}`;
  return `namespace: pair
services:
  ingress: {kind: gateway, ports: {http: ${gate}}}
  web: {port: 8480, calls: [catalogue], command: node web.mjs}
  front: {kind: proxyless, port: ${front}, calls: [catalogue, prices], ${app("proxyless-front")}}
  catalogue: {kind: proxyless, port: ${grpc}, protocol: grpc, calls: [], ${app("proxyless-catalogue")}}
  prices: {port: ${grpc}, protocol: grpc, calls: [], ${app("prices")}}
config:${mutual("catalogue")}${mutual("prices")}
  - apiVersion: networking.istio.io/v1
    kind: Gateway
    metadata: {name: door}
    spec:
      selector: {istio: ingressgateway}
      servers: [{port: {number: ${gate}, name: http, protocol: HTTP}, hosts: ["shop.test"]}]
  - apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: door}
    spec:
      hosts: ["shop.test"]
      gateways: [door]
      http: [{route: [{destination: {host: web.pair.svc.cluster.local}}], retries: {attempts: 0}}]
`;
}

const place = sharedPlace<Place>(["chromium", "envoy", "netns", "iptables"], async (opened) => {
  const [gate = 0, front = 0, grpc = 0] = await freePorts(3);
  const mesh = opened.add(startMeshRun({ file: meshFile(gate, front, grpc), files: { "web.mjs": WEB } }));
  const browser = opened.add(await startChromium());
  await mesh.untilUp();
  const { workloads } = await mesh.status();
  const address = (name: string) => workloads.find((each) => each.name === name)?.address ?? "";
  const ask = async (url: string, headers: Record<string, string> = {}) =>
    String((await httpRequest({ url, headers })).status);
  return {
    mesh,
    browser,
    through: (path) => ask(`http://${address("ingress")}:${gate}${path}`, { host: "shop.test" }),
    front: () => ask(`http://${address("front")}:${front}/`),
  };
});

/** Connections of `mesh up` over unix sockets: those to agents are among them, and without one no agent is asked. */
function unixConnections(pid: number): number {
  const connected = new Set(
    readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .flatMap((line) => /^\S+ \S+ \S+ \S+ 0001 03 +(\d+)/.exec(line)?.[1] ?? []),
  );
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return connected.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? "");
    } catch {
      return false;
    }
  }).length;
}

const CALLER = "spiffe://cluster.local/ns/pair/sa/ingress";

test("agents are asked while a page is open, and neither before nor after", async () => {
  const { mesh, browser, through } = place();
  const { pid } = mesh.state().parent;
  // What asked before, such as for the state of the mesh, may still be closing its connection.
  await until("nobody is asked", () => unixConnections(pid) === 0 || String(unixConnections(pid)));
  {
    await using opened = await openConsole({ mesh, browser });
    await until("each agent is asked", () => unixConnections(pid) >= 5 || String(unixConnections(pid)));
    expect(opened.complaints).toEqual([]);
  }
  await until("no agent is asked", () => unixConnections(pid) === 0 || String(unixConnections(pid)), 60_000);
  expect(await through("/")).toBe("200");
  expect(unixConnections(pid)).toBe(0);
});

test("the tail shows each request with status, reason, duration and the caller's identity, while it is looked at", async () => {
  const { through, ...shop } = place();
  await using opened = await openConsole(shop, "#requests");
  const { page, complaints } = opened;
  await page.getByLabel("Workload", { exact: true }).selectOption("web");
  await page.getByLabel("Direction").selectOption("inbound");
  const load = startLoad(() => through("/list?page=2"), { pauseMs: 100 });
  const failing = startLoad(() => through("/gone"), { pauseMs: 100 });
  try {
    const row = (text: string) => page.locator("tbody tr").filter({ hasText: text }).first();
    const good = row("GET /list?page=2");
    await good.getByText("200", { exact: true }).waitFor();
    await good.getByTitle(CALLER).waitFor();
    expect(await good.locator("td").last().textContent()).toMatch(/^[\d.,]+ m?s$/);
    const bad = row("GET /gone");
    await bad.getByText("503", { exact: true }).waitFor();
    await bad.getByText("the endpoint closed the connection").waitFor();

    // What stands still asks for nothing: new requests do not come.
    await page.getByRole("button", { name: "Pause" }).click();
    const shown = await page.locator("tbody tr").count();
    const done = load.requests;
    await until("more requests have passed", () => load.requests > done + 20);
    expect(await page.locator("tbody tr").count()).toBe(shown);
    await page.getByRole("button", { name: "Go on" }).click();
    await until("rows come again", async () => (await page.locator("tbody tr").count()) > shown);
  } finally {
    await Promise.all([load.stop(), failing.stop()]);
  }
  expect([...load.answers.keys(), ...failing.answers.keys()]).toEqual(["200", "503"]);
  expect(complaints).toEqual([]);
});

test("calls of a gateway, to a program without Envoy and of one are edges with their rates, and a lock where mutual TLS is in force", async () => {
  const { mesh, through, front } = place();
  const client = await openClient(mesh.state().console?.link ?? "");
  const looking = new AbortController();
  const loads = [startLoad(() => through("/"), { pauseMs: 50 }), startLoad(front, { pauseMs: 50 })];
  try {
    const events = await client.follow("/api/events", looking.signal);
    const graph = () => events.findLast(({ event }) => event === "graph")?.data as GraphSnapshot | undefined;
    const edge = (from: string, to: string) =>
      graph()?.edges.find((each) => each.from.includes(`:${from}`) && each.to.includes(`:${to}`) && each.rps > 0);
    const service = (name: string) => `${name}.pair.svc.cluster.local`;
    for (const [from, to, lock] of [
      ["ingress", "web", 1],
      ["web", "catalogue", 1],
      // Counted by the called side, which knows nothing of the handshakes.
      ["front", "prices", undefined],
    ] as const) {
      let found: GraphSnapshot["edges"][number] | undefined;
      await until(`${from} calls ${to}`, () => {
        found = edge(service(from), service(to));
        return found !== undefined || String(JSON.stringify(graph()?.edges));
      });
      expect(found?.mtlsShare).toBe(lock);
    }
    const kinds = new Map(graph()?.nodes.map(({ label, kind }) => [label, kind]));
    expect([kinds.get("ingress"), kinds.get("front"), kinds.get("web")]).toEqual(["gateway", "proxyless", "service"]);
  } finally {
    looking.abort();
    await Promise.all(loads.map((load) => load.stop()));
  }
});
