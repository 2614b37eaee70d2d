import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, test } from "vitest";
import {
  generateInboundClusters,
  generateOutboundClusters,
} from "../../src/envoy-config/clusters/generate-clusters.ts";
import { generateEndpoints } from "../../src/envoy-config/endpoints/load-assignment.ts";
import type { ProxyView } from "../../src/mesh-model/push-snapshot.ts";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import type { Cluster } from "../../src/protobuf/gen/envoy/config/cluster/v3.ts";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { EVERY_FIELD_NODE, EVERY_FIELD_YAML } from "../support/discovery/every-field.ts";
import { envoyVerdict, runEnvoy } from "../support/envoy/run-envoy.ts";
import { viewOfCase } from "../support/mesh-model/view-of-case.ts";
import { needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";

const clustersOf = (view: ProxyView) => [...generateOutboundClusters(view.outbound), ...generateInboundClusters(view)];

describe("a stock Envoy", () => {
  beforeEach(needs("envoy", "openssl"));

  test("accepts every member of a DestinationRule and every kind of service", async () => {
    const view = viewOfCase(EVERY_FIELD_YAML, undefined, EVERY_FIELD_NODE);
    const clusters = clustersOf(view);
    expect(clusters.length).toBeGreaterThan(130);
    const assigned = clusters.map((cluster) =>
      cluster.type === "EDS" ? inlined(cluster, generateEndpoints(view.outbound, cluster.name ?? "")) : cluster,
    );
    expect(await verdict(clusters)).toBe("ok");
    // As static clusters, so that the assignments are looked at as well.
    expect(await verdict(assigned)).toBe("ok");
  });

  test("refuses what is wrong, so that its consent means something", async () => {
    expect(await verdict([{ name: "a", type: "STATIC", lbPolicy: "CLUSTER_PROVIDED" }])).toContain(
      "cluster provided LB",
    );
  });

  test("originates TLS as a rule says, and sends nothing where the rule names a credential", async () => {
    const { server: pair } = opensslCertificates();
    const seen: (string | undefined)[] = [];
    const server = createServer(pair, ({ url }, response) => {
      seen.push(url);
      response.end("secured");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    try {
      const view = viewOfCase(tlsServices(port), undefined, EVERY_FIELD_NODE);
      const clusters = ["skip", "credential"].map((name) => {
        const fullName = `outbound|80||${name}.example`;
        const cluster = generateOutboundClusters(view.outbound).find((each) => each.name === fullName);
        return { ...inlined(cluster ?? {}, generateEndpoints(view.outbound, fullName)), name };
      });
      const [listener = 0] = await freePorts(1);
      await using _envoy = await runEnvoy(httpBootstrap(listener, clusters));
      const get = (path: string) => httpRequest({ url: `http://127.0.0.1:${listener}${path}`, timeoutMs: 5_000 });
      await until("Envoy listens", () => get("/skip"));
      expect(await get("/skip")).toMatchObject({ status: 200, body: "secured" });
      expect((await get("/credential")).status).toBe(503);
      expect(new Set(seen)).toEqual(new Set(["/skip"]));
    } finally {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }
  });
});

function inlined({ edsClusterConfig: _, ...cluster }: Cluster, loadAssignment: Cluster["loadAssignment"]): Cluster {
  return { ...cluster, type: "STATIC", loadAssignment };
}

const verdict = (clusters: readonly Cluster[]) => envoyVerdict(bootstrap({ clusters }));

interface Static {
  readonly clusters: readonly Cluster[];
  readonly listeners?: readonly object[];
}

/** With the clusters of the agent's bootstrap that the generated ones refer to. */
function bootstrap({ clusters, listeners = [] }: Static): object {
  const grpc = { envoyGrpc: { clusterName: "sds-grpc" } };
  return {
    node: { id: "test", cluster: "test" },
    dynamicResources: { adsConfig: { apiType: "GRPC", transportApiVersion: "V3", grpcServices: [grpc] } },
    staticResources: { listeners, clusters: [{ name: "sds-grpc", type: "STATIC", connectTimeout: "1s" }, ...clusters] },
  };
}

function httpBootstrap(port: number, clusters: readonly Cluster[]): object {
  const type = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.filters.${name}` });
  const routes = clusters.map(({ name }) => ({ match: { prefix: `/${name}` }, route: { cluster: name } }));
  const manager = {
    ...type("network.http_connection_manager.v3.HttpConnectionManager"),
    statPrefix: "test",
    httpFilters: [{ name: "envoy.filters.http.router", typedConfig: type("http.router.v3.Router") }],
    routeConfig: { virtualHosts: [{ name: "all", domains: ["*"], routes }] },
  };
  const filters = [{ name: "envoy.filters.network.http_connection_manager", typedConfig: manager }];
  return bootstrap({
    clusters,
    listeners: [{ name: "in", address: socket(port), filterChains: [{ filters }] }],
  });
}

function socket(portValue: number) {
  return { socketAddress: { address: "127.0.0.1", portValue } };
}

function tlsServices(port: number): string {
  const documents = Object.entries({
    skip: "{mode: SIMPLE, insecureSkipVerify: true}",
    credential: "{mode: SIMPLE, credentialName: some-secret}",
  }).map(
    ([name, tls]) => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: default}
spec:
  hosts: [${name}.example]
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: ${port}}]
  endpoints: [{address: 127.0.0.1}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: ${name}, namespace: default}
spec: {host: ${name}.example, trafficPolicy: {tls: ${tls}}}
`,
  );
  return documents.join("---");
}
