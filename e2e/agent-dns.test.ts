import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { map, message, nested, repeatedString, string } from "../src/protobuf/wire/message.ts";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { makeCertificate } from "../test/support/certs/certificates.ts";
import { aRecord } from "../test/support/dns/message.ts";
import { startDnsTlsFront } from "../test/support/dns/tls-front.ts";
import { replyTo, startDnsUpstream } from "../test/support/dns/upstream.ts";
import { needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy", "dig"));

const nameInfo = message({ ips: repeatedString(1), registry: string(2), shortname: string(3), namespace: string(4) });
const nameTable = message({ table: map(1, nested(2, nameInfo)) });

const dig = async (port: number, ...words: string[]) => {
  const { stdout } = await promisify(execFile)("dig", [
    "@127.0.0.1",
    "-p",
    String(port),
    "+time=20",
    "+tries=1",
    ...words,
  ]);
  return stdout;
};

test("names of the mesh's table are answered over UDP and TCP once the control plane has sent it", async () => {
  const [port = 0] = await freePorts(1);
  const table = nameTable.encode({
    table: new Map([
      ["web.ns.svc.cluster.local", { ips: ["10.1.2.3"], registry: "Kubernetes", shortname: "web", namespace: "ns" }],
    ]),
  });
  await using controlPlane = await startMeshControlPlane({
    resources: () => [{ name: "nds", type: "istio.networking.nds.v1.NameTable", body: table }],
  });
  const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
  await using agent = await startAgentProcess({ controlPlane, env });
  await agent.untilReady();
  for (const transport of ["+notcp", "+tcp"]) {
    expect(await dig(port, "+short", transport, "web.ns.svc.cluster.local", "A")).toBe("10.1.2.3\n");
  }
  expect(await dig(port, "web.ns.svc.cluster.local", "AAAA")).toMatch(/status: NOERROR.*\n.*ANSWER: 0/);
  expect(await dig(port, "+short", "web.ns", "A")).toContain("10.1.2.3");
  const shown = await agent.get("status", "/debug/ndsz");
  expect(shown.status).toBe(200);
  expect(JSON.parse(shown.body)).toMatchObject({ table: { "web.ns.svc.cluster.local": { ips: ["10.1.2.3"] } } });
});

test("the agent is not ready before the first name table, and says so", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
  await using agent = await startAgentProcess({ controlPlane, env });
  await until(async () => {
    const { status, body } = await agent.get("status", "/healthz/ready");
    return status === 503 && body.startsWith("dns: ") ? undefined : `${status} ${body}`;
  });
});

test("a DNS address that is taken ends the agent with a clear error", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const port = controlPlane.port;
  const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
  await using agent = await startAgentProcess({ controlPlane, env });
  expect(await agent.exited).toBe(255);
  expect(agent.stderr()).toContain("failed to start local DNS server: ");
  expect(agent.stderr()).toContain(String(port));
});

test("DNS_AGENT of 1.7 answers for the mesh what the control plane says over TLS", async () => {
  const [port = 0] = await freePorts(1);
  const ca = await makeCertificate({ organization: "mesh dns" });
  const leaf = await makeCertificate({ by: ca, isCa: false, hosts: ["istiod.istio-system.svc"] });
  await using names = await startDnsUpstream((query) =>
    replyTo(query, { answers: [aRecord(query.message.questions[0]?.name ?? "", "10.1.2.3")] }),
  );
  await using front = await startDnsTlsFront(names, { cert: leaf.pem, key: leaf.keyPem });
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const root = readFileSync(controlPlane.rootFile, "utf8") + ca.pem;
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      PILOT_AGENT_GENERATION: "1.7",
      DNS_AGENT: "DNS-TLS",
      DNS_SERVER: `tcp-tls:127.0.0.1:${front.port}`,
      DNS_PROXY_ADDR: `127.0.0.1:${port}`,
    },
    files: { "var/run/secrets/istio/root-cert.pem": root },
  });
  await until(async () => {
    expect(await dig(port, "+short", "shop.global", "A").catch(String)).toBe("10.1.2.3\n");
    expect(await dig(port, "+short", "web.ns.svc.cluster.local", "A")).toBe("10.1.2.3\n");
  });
  expect(agent.stdout()).not.toContain("DNS_AGENT:");
});
