import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import { type DiscoveryProcess, startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { END_HEADERS, FRAME, grpcHeaderBlock, PREFACE, rawFrame } from "../test/support/grpc/raw-frames.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { lifeOf } from "../test/support/process/process-life.ts";
import { until } from "../test/support/wait/until.ts";
import { openDelta, testNode, URLS } from "../test/support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const SERVICES = 1_500;
const ADS_PATH = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

const services = (address: string) =>
  Array.from(
    { length: SERVICES },
    (_, at) => `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: s${at}, namespace: default}
spec:
  hosts: [s${at}.example]
  addresses: ["240.0.${at >> 8}.${at & 255}"]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP}]
  endpoints: [{address: ${address}}]
`,
  ).join("---\n");

async function start(): Promise<DiscoveryProcess> {
  const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0] = await freePorts(4);
  return startDiscoveryProcess({
    ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
    files: { "services.yaml": services("10.0.0.1") },
    // Longer than any test: a stop that waits for it does not end.
    args: ["--shutdownDuration=1h"],
    isReady: async () =>
      (await fetchAnswer(`http://127.0.0.1:${http}/ready`).catch(() => ({ status: 0 }))).status === 200,
  });
}

/** A connection that sends these bytes and never reads. */
async function openSilent(port: number, bytes: Buffer | string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  opened.defer(async () => void socket.destroy());
  await new Promise((connected) => socket.once("connect", connected));
  socket.pause();
  if (bytes.length > 0) socket.write(bytes);
  return socket;
}

/** A proxy that asks for all clusters, with a window for all of them, and takes nothing of the answer. */
function frozenProxy(): Buffer {
  const text = (field: number, value: string) =>
    Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), Buffer.from(value)]);
  const node = text(1, "sidecar~10.0.0.9~web-9.default~default.svc.cluster.local");
  const request = Buffer.concat([Buffer.from([0x0a, node.length]), node, text(2, URLS.CDS)]);
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request]);
  return Buffer.concat([
    PREFACE,
    rawFrame(FRAME.settings, { payload: Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]) }),
    rawFrame(FRAME.windowUpdate, { payload: Buffer.from([0x7f, 0, 0, 0]) }),
    rawFrame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: grpcHeaderBlock(ADS_PATH) }),
    rawFrame(FRAME.data, { stream: 1, payload: message }),
  ]);
}

const connected = async ({ ports }: DiscoveryProcess) =>
  (
    JSON.parse((await fetchAnswer(`http://127.0.0.1:${ports.monitoring}/debug/connections`)).body) as {
      totalClients: number;
    }
  ).totalClients;

const SITUATIONS: readonly { readonly name: string; prepare(server: DiscoveryProcess): Promise<unknown> }[] = [
  { name: "without clients", prepare: async () => undefined },
  {
    name: "with proxies that take nothing of a large answer",
    prepare: async (server) => {
      for (let count = 0; count < 5; count++) await openSilent(server.ports.grpc, frozenProxy());
      await until(async () => (await connected(server)) >= 5 || `${await connected(server)}`);
    },
  },
  {
    name: "with TLS handshakes and requests that were half sent, and connections that say nothing",
    prepare: async ({ ports }) => {
      for (const port of Object.values(ports).filter((each) => typeof each === "number")) {
        await openSilent(port, "");
        await openSilent(port, Buffer.from([0x16, 3, 1]));
        await openSilent(port, "GET /ready HTTP/1.1\r\nHost: x\r\n");
        await openSilent(port, PREFACE);
      }
    },
  },
  {
    name: "with debug pages that no one reads to their end",
    prepare: async ({ ports }) => {
      for (const path of ["/debug/configz", "/debug/registryz", "/debug/endpointz", "/metrics"]) {
        await openSilent(ports.monitoring, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
        await openSilent(ports.http, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      }
    },
  },
  {
    name: "while a change of every service is pushed to proxies",
    prepare: async (server) => {
      const proxies = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const stream = opened.add(openDelta({ port: server.ports.grpc }));
          stream.send({ node: testNode(), typeUrl: URLS.CDS });
          await stream.next();
          return stream;
        }),
      );
      server.write("services.yaml", services("10.0.0.2").replaceAll("number: 80", "number: 81"));
      // The first part of the push is there, the rest is on its way.
      await proxies[0]?.next();
    },
  },
];

test.each(SITUATIONS)(
  "SIGTERM ends the control plane without waiting for --shutdownDuration $name",
  async ({ prepare }) => {
    const server = await start();
    opened.defer(async () => server[Symbol.asyncDispose]());
    await prepare(server);
    const isAlive = lifeOf(server.pid);
    await server[Symbol.asyncDispose]();
    expect(isAlive()).toBe(false);
  },
);
