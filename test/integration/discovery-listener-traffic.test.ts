import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, request } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer, connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { staticSidecar } from "../support/discovery/static-sidecar.ts";
import { createWorkFolder } from "../support/envoy/life.ts";
import { type RunningEnvoy, runEnvoy } from "../support/envoy/run-envoy.ts";
import { createTestMesh, testNode } from "../support/mesh-model/create-test-mesh.ts";
import { destinationRule, documents, peerAuthentication, type TestObject } from "../support/mesh-model/test-objects.ts";
import { has, needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";

/** One sidecar without interception, whose listeners are really bound; backends beside it. */
const backends: (Server & { closeAllConnections?: () => void })[] = [];
const sockets = new Set<Socket>();
let work: ReturnType<typeof createWorkFolder> | undefined;
let envoy: RunningEnvoy | undefined;
let ports: Ports;

interface Ports {
  readonly mixed: number;
  readonly silent: number;
  readonly tls: number;
  readonly tunnel: number;
  readonly proxy: number;
  readonly ingress: number;
}

const listening = async (server: Server) => {
  backends.push(server);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

beforeAll(async () => {
  if (!has("envoy") || !has("openssl")) return;
  const [mixed = 0, silent = 0, tls = 0, tunnel = 0, proxy = 0, ingress = 0] = await freePorts(6);
  ports = { mixed, silent, tls, tunnel, proxy, ingress };
  const { server: pair } = opensslCertificates();
  const named = (name: string) => createTlsServer(pair, (socket) => socket.end(name));
  const at = {
    web: await listening(createHttpServer(({ headers }, response) => response.end(`web for ${headers.host}`))),
    echo: await listening(createServer((socket) => socket.pipe(socket))),
    greeting: await listening(createServer((socket) => socket.write("220 welcome\n"))),
    left: await listening(named("left")),
    right: await listening(named("right")),
    tunnel: await listening(tunnelServer()),
  };
  work = createWorkFolder();
  const objects = [
    entry("web", mixed, "HTTP", at.web),
    entry("echo", mixed, "TCP", at.echo),
    entry("greeting", silent, "", at.greeting),
    entry("left", tls, "TLS", at.left),
    entry("right", tls, "TLS", at.right),
    entry("tunnel", tunnel, "TCP", at.tunnel),
    destinationRule("tunnel", "tunnel.example", {
      trafficPolicy: { tunnel: { protocol: "CONNECT", targetHost: "far.example", targetPort: 7777 } },
    }),
    peerAuthentication("off", "default", { mtls: { mode: "DISABLE" } }),
    sidecarObject(ingress, mixed, at.web),
  ];
  const meshYaml = `proxyHttpPort: ${proxy}\naccessLogFile: ${join(work.folder, "access.log")}`;
  const node = testNode({ metadata: { INTERCEPTION_MODE: "NONE" } });
  const view = createTestMesh(documents(...objects), meshYaml)
    .take()
    .snapshot.view(node);
  const running = await runEnvoy(staticSidecar(view, work.folder));
  envoy = running;
  await until("the sidecar is ready", () => running.isReady());
});

afterAll(async () => {
  await envoy?.[Symbol.asyncDispose]();
  for (const socket of sockets) socket.destroy();
  await Promise.all(backends.map((server) => new Promise((resolve) => server.close(resolve))));
  work?.[Symbol.dispose]();
});

beforeEach(needs("envoy", "openssl"));

test("HTTP and TCP services share a port", async () => {
  expect(await get({ port: ports.mixed, host: "web.example" })).toBe("web for web.example");
  expect(await say({ port: ports.mixed }, "hello\n")).toBe("hello\n");
});

test("a server that speaks first is heard on a port of unknown protocol, after a moment", async () => {
  expect(await say({ port: ports.silent })).toBe("220 welcome\n");
});

test.each(["left", "right"])("TLS to %s.example is distinguished by its server name", async (name) => {
  const socket = tlsConnect({
    host: "127.0.0.1",
    port: ports.tls,
    servername: `${name}.example`,
    rejectUnauthorized: false,
  });
  expect(await firstBytes(socket)).toBe(name);
});

test("a connection goes through a tunnel to where the rule says", async () => {
  expect(await say({ port: ports.tunnel }, "ping")).toBe("CONNECT far.example:7777: ping");
});

test("an application may use the sidecar as its HTTP proxy", async () => {
  const path = `http://web.example:${ports.mixed}/`;
  expect(await get({ port: ports.proxy, host: `web.example:${ports.mixed}`, path })).toBe(
    `web for web.example:${ports.mixed}`,
  );
});

test("a unix socket carries requests to any service", async () => {
  const host = `web.example:${ports.mixed}`;
  expect(await get({ socketPath: join(work?.folder ?? "", "egress.sock"), host })).toBe(`web for ${host}`);
});

test("an ingress listener takes calls to the workload", async () => {
  expect(await get({ port: ports.ingress, host: "anything" })).toBe("web for anything");
});

test("calls leave lines in the access log", async () => {
  await get({ port: ports.mixed, host: "web.example", path: "/logged" });
  const line = /"GET \/logged HTTP\/1\.1" 200 - via_upstream - .*outbound\|\d+\|\|web\.example/;
  await until("the line", async () => {
    // Lines are written every ten seconds, or when the file is opened again.
    await envoy?.admin("/reopen_logs", "POST");
    return line.test(readFileSync(join(work?.folder ?? "", "access.log"), "utf8"));
  });
});

function entry(name: string, number: number, protocol: string, targetPort: number): TestObject {
  const spec = {
    hosts: [`${name}.example`],
    location: "MESH_EXTERNAL",
    resolution: "STATIC",
    ports: [{ number, name: "p", protocol, targetPort }],
    endpoints: [{ address: "127.0.0.1" }],
  };
  return { kind: "ServiceEntry", name, spec };
}

function sidecarObject(ingress: number, mixed: number, target: number): TestObject {
  const bind = `unix://${join(work?.folder ?? "", "egress.sock")}`;
  const spec = {
    ingress: [
      {
        port: { number: ingress, protocol: "HTTP", name: "in" },
        bind: "127.0.0.1",
        defaultEndpoint: `127.0.0.1:${target}`,
      },
    ],
    egress: [
      { port: { number: 0, protocol: "HTTP", name: "socket" }, bind, hosts: ["./web.example"] },
      { hosts: ["./*"] },
    ],
  };
  return { kind: "Sidecar", name: `own-${mixed}`, spec };
}

/** Answers CONNECT, then says what it was asked for in front of what it gets. */
function tunnelServer(): Server {
  const server = createHttpServer();
  server.on("connect", ({ method, url }, socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    socket.once("data", (chunk: Buffer) => socket.end(`${method} ${url}: ${chunk}`));
  });
  return server;
}

interface Target {
  readonly port?: number;
  readonly socketPath?: string;
  readonly host?: string;
  readonly path?: string;
  readonly method?: "GET" | "POST";
}

async function get({ host = "localhost", path = "/", ...target }: Target): Promise<string> {
  const options = { hostname: "127.0.0.1", ...target, path, headers: { host }, agent: false, timeout: 10_000 };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("end", () => resolve(Buffer.concat(chunks).toString()));
    });
    sent.once("timeout", () => sent.destroy(new Error("no answer")));
    sent.once("error", reject).end();
  });
}

async function say({ port }: { readonly port: number }, text?: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  if (text !== undefined) socket.write(text);
  return firstBytes(socket);
}

async function firstBytes(socket: Socket): Promise<string> {
  try {
    const [chunk] = await once(socket, "data", { signal: AbortSignal.timeout(10_000) });
    return String(chunk);
  } finally {
    socket.destroy();
  }
}
