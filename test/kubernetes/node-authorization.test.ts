import { expect, test } from "vitest";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { createCertificate } from "../../src/grpc/create-certificate.ts";
import { requestMetadata } from "../../src/protobuf/wire/istio-ca.ts";
import { parsePemCertificate } from "../../src/protocol/x509/certificate.ts";
import { buildCsr } from "../../src/protocol/x509/csr.ts";
import { generateKeyPair } from "../../src/protocol/x509/key-pair.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const NODES = ["node-1", "node-2"];
const WEB = "spiffe://cluster.local/ns/shop/sa/web";

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const named = (kind: string, name: string, namespace?: string) => ({
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
  });
  await kubernetes.apply(manifests(...["istio-system", "mesh", "shop"].map((name) => named("Namespace", name))));
  const accounts = [named("ServiceAccount", "agent", "mesh"), named("ServiceAccount", "web", "shop")];
  await kubernetes.apply(manifests(...NODES.map((name) => named("Node", name)), ...accounts));
  const agents = NODES.map((node) => pod("mesh", `agent-${node}`, "agent", node));
  await kubernetes.apply(manifests(...agents, pod("shop", "web-1", "web", "node-1")));
  const server = opened.add(
    await startDiscoveryServer({
      kubernetes: {
        kubeconfig: kubernetes.kubeconfig,
        environment: {},
        identity: {
          caSecrets: ["istio-ca-secret"],
          tokenAudiences: ["istio-ca"],
          rootConfigMap: "istio-ca-root-cert",
          nodeAccounts: ["mesh/agent"],
        },
      },
    }),
  );
  return { kubernetes, server };
});

function manifests(...objects: readonly object[]): readonly Manifest[] {
  return objects as readonly Manifest[];
}

function pod(namespace: string, name: string, serviceAccountName: string, nodeName: string) {
  const spec = { serviceAccountName, nodeName, containers: [{ name: "app", image: "none" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace }, spec };
}

/** The identity of the certificate that the pod gets when it asks for this one, or the status it is refused with. */
async function askFrom(namespace: string, name: string, account: string, identity: string): Promise<string> {
  const { kubernetes, server } = place();
  const { metadata } = (await kubernetes.api.json({ path: `/api/v1/namespaces/${namespace}/pods/${name}` })) as {
    readonly metadata: { readonly uid: string };
  };
  const bound = { name, uid: metadata.uid };
  const token = await kubernetes.token({ namespace, account, audiences: ["istio-ca"], pod: bound });
  await using channel = createGrpcChannel(`127.0.0.1:${server.ports.secureGrpc}`, {
    tls: () => ({ ca: server.discovery.rootPem, serverName: "localhost" }),
    credentials: () => ({ authorization: `Bearer ${token}` }),
  });
  const csr = await buildCsr(await generateKeyPair({ type: "ecdsa", curve: "P256" }), { hosts: [identity] });
  const request = { validityDuration: 0n, csr, metadata: requestMetadata({ ImpersonatedIdentity: identity }) };
  try {
    const { certChain = [] } = await channel.unary(createCertificate, request);
    return parsePemCertificate(certChain[0] ?? "").names[0]?.value ?? "";
  } catch (thrown) {
    return (thrown as { readonly code: string }).code;
  }
}

test("a node agent gets certificates of pods on its own node, while they are there, and no others", async () => {
  const { kubernetes, server } = place();
  const refusal = (reason: string) => until(() => expect(server.log.text()).toContain(reason));
  expect(await askFrom("mesh", "agent-node-1", "agent", WEB)).toBe(WEB);
  expect(await askFrom("mesh", "agent-node-2", "agent", WEB)).toBe("UNAUTHENTICATED");
  await refusal("no instances of shop/web found on node node-2");
  expect(await askFrom("shop", "web-1", "web", "spiffe://cluster.local/ns/mesh/sa/agent")).toBe("UNAUTHENTICATED");
  await refusal("shop/web is not among CA_TRUSTED_NODE_ACCOUNTS (mesh/agent)");
  await kubernetes.kubectl(["-n", "shop", "delete", "pod", "web-1", "--force", "--grace-period=0"]);
  await until(async () =>
    (await askFrom("mesh", "agent-node-1", "agent", WEB)) === "UNAUTHENTICATED" ? undefined : "signed",
  );
  await refusal("no instances of shop/web found on node node-1");
});
