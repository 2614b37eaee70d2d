import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import { type AgentProcess, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { opensslCertificates } from "../test/support/certs/openssl-certificates.ts";
import { needs } from "../test/support/needs.ts";
import { untilListening } from "../test/support/net/until-listening.ts";
import { until } from "../test/support/wait/until.ts";
import { openRawAds } from "../test/support/xds/ads-client.ts";
import { startControlPlane } from "../test/support/xds/control-plane.ts";
import { ask, CDS, LDS, push } from "../test/support/xds/harness.ts";

beforeEach(needs("openssl"));

const TOKEN = "var/run/secrets/tokens/istio-token";

/** The agent for clients that speak xDS themselves, in front of a control plane on which the test is the one who speaks. */
async function startAgent(address: string): Promise<AgentProcess & { readonly socket: string }> {
  const agent = await startAgentProcess({
    proxyConfig: { discoveryAddress: address, controlPlaneAuthPolicy: "NONE" },
    env: { DISABLE_ENVOY: "true", ISTIO_META_CLUSTER_ID: "Kubernetes" },
    files: { "var/run/secrets/istio/root-cert.pem": opensslCertificates().ca, [TOKEN]: "the-first-token" },
  });
  const socket = join(agent.folder, "etc/istio/proxy/XDS");
  await untilListening(socket);
  return Object.assign(agent, { socket });
}

const metrics = async (agent: AgentProcess) => (await agent.get("status", "/stats/prometheus")).body;

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("a request ten times as large as gRPC usually allows passes, and shows in the metrics with everything else", async () => {
    await using server = await startControlPlane();
    await using agent = await startAgent(server.address);
    await using client = openRawAds(agent.socket, kind);
    const names = Array.from({ length: 400 }, (_, index) => `${index}`.padEnd(100_000, "x"));
    const large = ask(kind, CDS, { agent: "grpc", names });
    client.send(large);
    const stream = await server.stream(0);
    await stream.received(1);
    expect(stream.requests[0]?.equals(large)).toBe(true);
    expect(stream.metadata.get("clusterid")).toEqual(["Kubernetes"]);
    stream.send(push(kind, CDS, ["a"]));
    stream.send(push(kind, LDS, ["b"]));
    await client.received(2);
    stream.fail(grpc.status.UNAVAILABLE, "server is not ready to serve discovery information");
    expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });

    const delta = kind === "delta" ? "delta " : "";
    expect(agent.stdout()).toContain(`Initializing with upstream address "${server.address}" and cluster "Kubernetes"`);
    expect(agent.stdout()).toContain(`connected to ${delta}upstream XDS server: ${server.address}`);
    let text = "";
    const wanted = [
      "istio_agent_xds_proxy_requests 1",
      "istio_agent_xds_proxy_responses 2",
      `istio_agent_pilot_xds_recv_max ${large.length}`,
      'istio_agent_istiod_connection_terminations{type="error"} 1',
      'istio_agent_envoy_connection_terminations{type="cancelled"} 1',
    ];
    // Ends are counted a moment after the client hears of them.
    await until(async () => {
      text = await metrics(agent);
      expect(text.split("\n")).toEqual(expect.arrayContaining(wanted));
    });
    expect(text).not.toMatch(/^istio_agent_istiod_connection_failures /m);
  });

  test("a token that has expired is read again for the next connection, without a restart", async () => {
    await using server = await startControlPlane();
    await using agent = await startAgent(server.address);
    const connect = async (index: number) => {
      const client = openRawAds(agent.socket, kind);
      client.send(ask(kind, CDS, { agent: "grpc" }));
      return { client, stream: await server.stream(index) };
    };
    const refused = await connect(0);
    await using _refused = refused.client;
    expect(refused.stream.metadata.get("authorization")).toEqual(["Bearer the-first-token"]);
    refused.stream.fail(grpc.status.UNAUTHENTICATED, "authentication failure");
    expect(await refused.client.status).toMatchObject({ code: grpc.status.UNAUTHENTICATED });

    writeFileSync(join(agent.folder, TOKEN), "the-next-token\n");
    const accepted = await connect(1);
    await using _accepted = accepted.client;
    expect(accepted.stream.metadata.get("authorization")).toEqual(["Bearer the-next-token"]);
    accepted.stream.send(push(kind, CDS, ["a"]));
    await accepted.client.received(1);
    expect(agent.stdout()).not.toContain("the-first-token");
  });
});
