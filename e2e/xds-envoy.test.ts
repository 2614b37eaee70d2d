import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import { encodeMessage } from "../src/protobuf/envoy/index.ts";
import { deltaDiscoveryRequest, deltaDiscoveryResponse, discoveryResponse } from "../src/protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../src/xds/methods.ts";
import { type AgentProcess, fetchText, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { opensslCertificates } from "../test/support/certs/openssl-certificates.ts";
import { envoyPath, needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";
import { type ServedStream, startControlPlane } from "../test/support/xds/control-plane.ts";
import { CDS, LDS, push } from "../test/support/xds/harness.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener } from "../test/support/xds/mesh-resources.ts";

const PCDS = "type.googleapis.com/istio.mesh.v1alpha1.ProxyConfig";
const HCM = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

beforeEach(needs("envoy", "openssl"));

/** A listener that answers everything with a text: what Envoy says is what it was configured with last. */
function listener(port: number, text: string): Buffer {
  const route = { match: { prefix: "/" }, directResponse: { status: 200, body: { inlineString: text } } };
  const typedConfig = {
    "@type": HCM,
    statPrefix: "test",
    routeConfig: { virtualHosts: [{ name: "all", domains: ["*"], routes: [route] }] },
    httpFilters: [{ name: "router", typedConfig: { "@type": ROUTER } }],
  };
  return encodeMessage("envoy.config.listener.v3.Listener", {
    name: "test",
    address: { socketAddress: { address: "127.0.0.1", portValue: port } },
    filterChains: [{ filters: [{ name: "http", typedConfig }] }],
  });
}

function answer(kind: XdsProtocol, typeUrl: string, version: string, value?: Buffer): Buffer {
  const [common, any] = [{ typeUrl, nonce: `${typeUrl}-${version}` }, value && { typeUrl, value }];
  if (kind === "sotw")
    return discoveryResponse.encode({ ...common, versionInfo: version, resources: any ? [any] : [] });
  const resources = any ? [{ name: "test", version, resource: any }] : [];
  return deltaDiscoveryResponse.encode({ ...common, systemVersionInfo: version, resources });
}

/** Sends what Envoy waits for, and waits until it does what it says. */
async function configure(kind: XdsProtocol, stream: ServedStream, port: number, text: string): Promise<void> {
  const asked = (type: string) => until(async () => (stream.types().includes(type) ? undefined : `no ${type} yet`));
  await asked(CDS);
  stream.send(answer(kind, CDS, text));
  await asked(LDS);
  stream.send(answer(kind, LDS, text, listener(port, text)));
  await says(port, text);
}

async function says(port: number, text: string): Promise<void> {
  await until(async () => {
    const got = await fetchText(port, "/").catch((thrown: Error) => ({ body: thrown.message }));
    return got.body === text ? undefined : `Envoy says ${got.body}, not ${text}`;
  });
}

/** The agent in front of a control plane without TLS, on which the test is the one who speaks. */
async function startAgent(kind: XdsProtocol, address: string, env: Record<string, string> = {}): Promise<AgentProcess> {
  return startAgentProcess({
    proxyConfig: { discoveryAddress: address, controlPlaneAuthPolicy: "NONE" },
    env: { ISTIO_DELTA_XDS: String(kind === "delta"), ...env },
    files: {
      // There is no CA here, and nothing that needs a certificate; the file has to be one nevertheless.
      "var/run/secrets/istio/root-cert.pem": opensslCertificates().ca,
      "var/run/secrets/tokens/istio-token": "token",
    },
  });
}

describe.each(["sotw", "delta"] as const)("a real Envoy, %s", (kind) => {
  test("outlives refusals, garbage and types it did not ask for, and takes what comes next", async () => {
    const [port = 0] = await freePorts(1);
    await using server = await startControlPlane();
    await using agent = await startAgent(kind, server.address);
    const first = await server.stream(0);
    await configure(kind, first, port, "one");
    first.fail(grpc.status.UNAUTHENTICATED, "authentication failure");

    const second = await server.stream(1);
    await configure(kind, second, port, "two");
    second.send(Buffer.from("ffffffff", "hex"));

    const third = await server.stream(2);
    await configure(kind, third, port, "three");
    third.send(push(kind, "istio.io/debug/syncz", ["x"]));
    third.send(push(kind, "type.googleapis.com/envoy.made.up.Type", ["x"]));
    third.send(answer(kind, LDS, "four", listener(port, "four")));
    await says(port, "four");
    expect(server.streams).toHaveLength(3);

    third.end();
    const fourth = await server.stream(3);
    await configure(kind, fourth, port, "five");
    const log = agent.stdout();
    expect(log).toContain(
      "upstream terminated with unexpected error rpc error: code = Unauthenticated desc = authentication failure",
    );
    expect(log).toContain("Skipping forwarding type url istio.io/debug/syncz to Envoy as is not a valid Envoy type");
  });

  test("keeps serving when control plane, socket or itself go away, and is configured again when they are back", async () => {
    const [port = 0, discovery = 0] = await freePorts(2);
    const gone = await startControlPlane({ port: discovery });
    await using agent = await startAgent(kind, gone.address);
    await configure(kind, await gone.stream(0), port, "one");
    gone.forceStop();
    await says(port, "one");

    await using server = await startControlPlane({ port: discovery });
    const back = await server.stream(0);
    await configure(kind, back, port, "two");
    rmSync(join(agent.folder, "etc/istio/proxy/XDS"));
    await until(async () => (agent.stdout().includes("is gone; making it again") ? undefined : "not noticed"));
    back.end();

    const second = await server.stream(1);
    await configure(kind, second, port, "three");
    // In the middle of a push that is larger than any window.
    second.send(push(kind, CDS, ["x".repeat(20_000_000)]));
    const [envoy = 0] = await agent.envoyPids();
    process.kill(envoy, "SIGKILL");
    await second.closed;
    await configure(kind, await server.stream(2), port, "four");
  });
});

test("of two Envoys the newer one carries what the agent asks for; when it ends the older one does", async () => {
  const [port = 0] = await freePorts(1);
  await using server = await startControlPlane();
  await using agent = await startAgent("delta", server.address, { PROXY_CONFIG_XDS_AGENT: "true" });
  const old = await server.stream(0);
  await configure("delta", old, port, "one");
  const asked = () =>
    old.requests.map((bytes) => deltaDiscoveryRequest.decode(bytes)).filter(({ typeUrl }) => typeUrl === PCDS);
  const askedFor = (count: number, what: string) => until(async () => (asked().length === count ? undefined : what));
  await askedFor(1, "no subscription of the agent");
  old.send(answer("delta", PCDS, "one"));
  await askedFor(2, "no acknowledgement");
  // As in a hot restart: the same bootstrap, the same node. Linux lets both have the ports.
  const admin = { admin: { address: { socket_address: { address: "127.0.0.1", port_value: 0 } } } };
  const words = ["-c", "etc/istio/proxy/envoy-rev.json", "--config-yaml", JSON.stringify(admin)];
  const flags = ["--disable-hot-restart", "--allow-unknown-static-fields", "-l", "off"];
  const other = spawn(envoyPath() ?? "", [...words, ...flags], { cwd: agent.folder, stdio: "ignore" });
  try {
    const young = await server.stream(1);
    await configure("delta", young, port, "one");
    await until(async () => (young.types().includes(PCDS) ? undefined : "the newer one has no subscription"));
    // It had asked for everything, and takes that back.
    await askedFor(3, "the older one has kept its subscription");
    expect(asked().map(({ resourceNamesUnsubscribe }) => resourceNamesUnsubscribe)).toEqual([[], [], ["*"]]);
    const streams = JSON.parse((await agent.get("status", "/debug/xdsz")).body) as { id: number; primary: boolean }[];
    expect(streams.map(({ id, primary }) => [id, primary])).toEqual([
      [1, false],
      [2, true],
    ]);
  } finally {
    other.kill("SIGKILL");
    await once(other, "exit");
  }
  await until(async () => {
    const { body } = await agent.get("status", "/debug/xdsz");
    return /"id": 1,[^}]*"primary": true/.test(body) ? undefined : body;
  });
  await askedFor(4, "not asked again");
  expect(asked()[3]).toMatchObject({ resourceNamesSubscribe: ["*"], responseNonce: "" });
  old.send(answer("delta", LDS, "two", listener(port, "two")));
  await says(port, "two");
});

test("with PROXY_XDS_VIA_AGENT=false an Envoy of 1.8 talks to the control plane itself", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({
    resources: () => [httpListener({ name: "in", port, answer: "directly" })],
  });
  const env = { PILOT_AGENT_GENERATION: "1.8", PROXY_XDS_VIA_AGENT: "false" };
  await using agent = await startAgentProcess({ controlPlane, env });
  await agent.untilReady();
  await says(port, "directly");
  expect(agent.stdout()).not.toContain("connected to upstream XDS server");
  expect(existsSync(join(agent.folder, "etc/istio/proxy/XDS"))).toBe(false);
});
