import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, peerAuthentication, serviceEntry } from "../test/support/discovery/rules.ts";
import type { TcpResult, TlsCall } from "../test/support/discovery/workload.ts";
import { has } from "../test/support/needs.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const SERVER = "10.10.2.1";

/** What each port of the server was declared as; behind all of them are applications that take any bytes. */
const PORTS = { tcp: 9001, http: 9002, sniffed: 9003, "no service": 9004 } as const;
type Port = keyof typeof PORTS;

const services = serviceEntry({
  name: "server",
  vip: "10.96.0.20",
  ports: [
    { number: 9001, name: "tcp", protocol: "TCP", targetPort: 9001 },
    { number: 9002, name: "http", protocol: "HTTP", targetPort: 9002 },
    { number: 9003, name: "any", targetPort: 9003 },
  ],
  endpoints: [{ address: SERVER, serviceAccount: "server" }],
});

const HTTP_TEXT = "GET /who HTTP/1.1\r\nhost: server\r\n\r\n";
const CALLS = {
  "plaintext TCP": { send: "hello\r\n\r\n", tls: undefined },
  "plaintext HTTP": { send: HTTP_TEXT, tls: undefined },
  "the application's own TLS": { send: HTTP_TEXT, tls: { alpn: ["http/1.1"], servername: "server" } },
  "mesh mTLS carrying HTTP": { send: HTTP_TEXT, tls: { alpn: ["istio-http/1.1", "istio", "http/1.1"], isMesh: true } },
  "mesh mTLS carrying TCP": { send: "hello", tls: { alpn: ["istio"], isMesh: true } },
} as const;
type Call = keyof typeof CALLS;

/**
 * What comes of a call: the application saw it as raw bytes, as HTTP that went through a proxy, or as TLS that no one opened; or
 * the proxy had no chain for it, refused it for lack of a certificate, or could not read it as the declared protocol.
 */
type Outcome = "as TCP" | "as HTTP" | "untouched" | "no chain" | "tls fail" | "protocol error";

/** Per call and port, the outcomes for DISABLE, PERMISSIVE and STRICT. */
const MATRIX: Readonly<Record<Call, Partial<Record<Port, readonly [Outcome, Outcome, Outcome]>>>> = {
  "plaintext TCP": {
    tcp: ["as TCP", "as TCP", "no chain"],
    http: ["protocol error", "protocol error", "no chain"],
    sniffed: ["as TCP", "as TCP", "no chain"],
    "no service": ["as TCP", "as TCP", "no chain"],
  },
  "plaintext HTTP": {
    tcp: ["as TCP", "as TCP", "no chain"],
    http: ["as HTTP", "as HTTP", "no chain"],
    sniffed: ["as HTTP", "as HTTP", "no chain"],
    "no service": ["as HTTP", "as HTTP", "no chain"],
  },
  "the application's own TLS": {
    tcp: ["untouched", "untouched", "tls fail"],
    http: ["protocol error", "no chain", "tls fail"],
    sniffed: ["untouched", "untouched", "tls fail"],
    "no service": ["untouched", "untouched", "tls fail"],
  },
  "mesh mTLS carrying HTTP": {
    tcp: ["untouched", "as TCP", "as TCP"],
    http: ["protocol error", "as HTTP", "as HTTP"],
    sniffed: ["untouched", "as HTTP", "as HTTP"],
    "no service": ["untouched", "as HTTP", "as HTTP"],
  },
  "mesh mTLS carrying TCP": {
    tcp: ["untouched", "as TCP", "as TCP"],
    sniffed: ["untouched", "as TCP", "as TCP"],
    "no service": ["untouched", "as TCP", "as TCP"],
  },
};
const MODES = ["DISABLE", "PERMISSIVE", "STRICT"] as const;

const started = sharedPlace(NEEDS, async (opened) => {
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "services.yaml": services },
      workloads: [
        { name: "server", address: SERVER, labels: { app: "server" } },
        { name: "client", address: "10.10.1.1" },
        { name: "stranger", address: "10.10.1.2", hasSidecar: false },
      ],
    }),
  );
  for (const port of Object.values(PORTS)) await mesh.workload("server").listen({ kind: "tcp", port, name: "app" });
  return mesh;
});

/** Puts a policy in force and waits until the server's Envoy has taken a new listener and drains none of the old chains. */
async function apply(name: string, spec: object): Promise<void> {
  const before = await virtualInbound();
  started().controlPlane.write("policy.yaml", peerAuthentication(name, spec));
  await until(async () => ((await virtualInbound()) === before ? "the policy has not arrived" : undefined));
}

async function virtualInbound(): Promise<string> {
  const dump = JSON.parse(await started().workload("server").admin("/config_dump?resource=dynamic_listeners")) as {
    readonly configs: readonly { readonly name: string; readonly active_state?: { readonly version_info: string } }[];
  };
  return dump.configs.find(({ name }) => name === "virtualInbound")?.active_state?.version_info ?? "";
}

/** One call from outside the mesh, judged by what the application saw and, if nothing, by how the proxy ended it. */
async function outcomeOf(name: Call, port: number): Promise<string> {
  const server = started().workload("server");
  const { send, tls } = CALLS[name];
  await server.seen(port, true);
  const result = await started()
    .workload("stranger")
    .tcp({ address: SERVER, port, send, ...(tls !== undefined && { tls: credentials(tls) }) });
  const [saw] = await server.seen(port);
  if (saw === "binary 22") return "untouched";
  if (saw !== undefined) return saw.includes("x-forwarded-proto") ? "as HTTP" : "as TCP";
  return refusal(result);
}

function refusal({ received, closed, error = "" }: TcpResult): string {
  // A proxy that expects HTTP answers 400; to a TLS client that text is a record of no known version.
  if (received.startsWith("HTTP/1.1 400") || error.includes("wrong version number")) return "protocol error";
  if (error.includes("certificate required")) return "tls fail";
  return closed && received === "" ? "no chain" : JSON.stringify({ received, closed, error });
}

function credentials(tls: { readonly alpn: readonly string[]; readonly isMesh?: boolean }): TlsCall {
  if (tls.isMesh !== true) return { alpn: tls.alpn };
  const folder = started().workload("client").agent?.folder ?? "";
  const read = (file: string) => readFileSync(join(folder, "out", file), "utf8");
  return { alpn: tls.alpn, cert: read("cert-chain.pem"), key: read("key.pem"), ca: read("root-cert.pem") };
}

describe.each(MODES.map((mode, index) => ({ mode, index })))("inbound, mode $mode", ({ mode, index }) => {
  beforeAll(async () => {
    if (!NEEDS.every(has)) return;
    await apply("default", { mtls: { mode } });
  });

  for (const [call, ports] of Object.entries(MATRIX) as [Call, (typeof MATRIX)[Call]][]) {
    for (const [port, outcomes] of Object.entries(ports) as [Port, readonly Outcome[]][]) {
      test(`${call} to a port that is ${port}: ${outcomes[index]}`, async () => {
        // Envoy tells of a listener a moment before its worker has it.
        await expect.poll(() => outcomeOf(call, PORTS[port])).toBe(outcomes[index]);
      });
    }
  }
});

describe("port level rules", () => {
  const selector = { matchLabels: { app: "server" } };

  test("STRICT on a port of no service, DISABLE elsewhere", async () => {
    await apply("default", {
      selector,
      mtls: { mode: "DISABLE" },
      portLevelMtls: { [PORTS["no service"]]: { mode: "STRICT" } },
    });
    expect(await outcomeOf("plaintext TCP", PORTS["no service"])).toBe("no chain");
    expect(await outcomeOf("mesh mTLS carrying TCP", PORTS["no service"])).toBe("as TCP");
    expect(await outcomeOf("plaintext TCP", PORTS.tcp)).toBe("as TCP");
    expect(await outcomeOf("mesh mTLS carrying TCP", PORTS.tcp)).toBe("untouched");
  });

  test("DISABLE on a port of no service, STRICT elsewhere", async () => {
    await apply("default", {
      selector,
      mtls: { mode: "STRICT" },
      portLevelMtls: { [PORTS["no service"]]: { mode: "DISABLE" } },
    });
    expect(await outcomeOf("plaintext TCP", PORTS["no service"])).toBe("as TCP");
    expect(await outcomeOf("plaintext TCP", PORTS.tcp)).toBe("no chain");
    expect(await outcomeOf("plaintext HTTP", PORTS.http)).toBe("no chain");
  });
});

describe("from sidecar to sidecar", () => {
  test.each(MODES)("a client of the mesh reaches the server under %s without a rule of its own", async (mode) => {
    const current = await virtualInbound();
    started().controlPlane.write("policy.yaml", documents(peerAuthentication("default", { mtls: { mode } })));
    await until(async () => ((await virtualInbound()) === current ? "the policy has not arrived" : undefined));
    await until(async () => {
      const client = started().workload("client");
      const tcp = await client.tcp({ address: "10.96.0.20", port: 9001, send: "hello" });
      const http = await client.tcp({
        address: "10.96.0.20",
        port: 9002,
        send: `GET / HTTP/1.1\r\nhost: ${hostOf("server")}\r\n\r\n`,
      });
      return tcp.received === "app hello" && http.received !== "" ? undefined : JSON.stringify({ tcp, http });
    });
  });

  test("neither Envoy refused anything", async () => {
    expect(await started().rejections()).toEqual([]);
    for (const name of ["server", "client"]) expect(await started().workload(name).rejections(), name).toEqual([]);
  });
});
