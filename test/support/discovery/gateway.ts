import { decodeMessage } from "../../../src/protobuf/envoy/index.ts";
import type { DiscoveryResponse } from "../../../src/protobuf/wire/discovery.ts";
import { testNode } from "../xds/ads-client.ts";

/** The node of a gateway of a namespace, as its agent sends it. */
export function gatewayNode(namespace: string, account = "gateway", clusterId = "Kubernetes") {
  const metadata = {
    NAMESPACE: namespace,
    SERVICE_ACCOUNT: account,
    INSTANCE_IPS: "10.10.9.1",
    CLUSTER_ID: clusterId,
    LABELS: { istio: "gateway" },
  };
  return testNode({ id: `router~10.10.9.1~gateway-1.${namespace}~${namespace}.svc.cluster.local`, metadata });
}

/** A TLS server of a gateway, with a stored credential. */
export function tlsGateway(namespace: string, port: number, credentials: Readonly<Record<string, string>>) {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: { name: "gateway", namespace },
    spec: {
      selector: { istio: "gateway" },
      servers: Object.entries(credentials).map(([host, credentialName]) => ({
        port: { number: port, name: `https-${credentialName}`, protocol: "HTTPS" },
        bind: "127.0.0.1",
        hosts: [host],
        tls: { mode: "SIMPLE", credentialName },
      })),
    },
  };
}

export function tlsSecret(namespace: string, name: string, pair: { readonly cert: string; readonly key: string }) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    type: "kubernetes.io/tls",
    data: {
      "tls.crt": Buffer.from(pair.cert).toString("base64"),
      "tls.key": Buffer.from(pair.key).toString("base64"),
    },
  };
}

/** Certificates of a response by the name of their resource. */
export function certificatesOf({ resources }: Pick<DiscoveryResponse, "resources">): Readonly<Record<string, string>> {
  return Object.fromEntries(
    resources.map(({ value }) => {
      const { name, tlsCertificate, validationContext } = decodeMessage(
        "envoy.extensions.transport_sockets.tls.v3.Secret",
        Buffer.from(value ?? []),
      );
      const { inlineBytes } = tlsCertificate?.certificateChain ?? validationContext?.trustedCa ?? {};
      return [name, Buffer.from(inlineBytes ?? "", "base64").toString()];
    }),
  );
}
