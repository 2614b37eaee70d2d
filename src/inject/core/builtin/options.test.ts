import { expect, test } from "vitest";
import { injectionSettings } from "../../../../test/support/inject/settings.ts";
import { injectText } from "../documents/inject-text.ts";
import type { Json } from "../json.ts";

interface Given {
  readonly values?: Json;
  readonly meshConfig?: Json;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Json;
}

/** A pod as the command prints it. */
function injected({ values = {}, meshConfig = {}, annotations = {}, spec = {} }: Given): string {
  const settings = injectionSettings({ values, meshConfig });
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "prod", annotations },
    spec: { containers: [{ name: "app", image: "i" }], ...spec },
  };
  return injectText(JSON.stringify(pod), settings, { strict: true }).text;
}

const metadata = (variables: Readonly<Record<string, string>>): Given => ({
  meshConfig: { defaultConfig: { proxyMetadata: variables } },
});

test.each<{ readonly given: Given; readonly has: string }>([
  {
    given: { values: { global: { caName: "GkeWorkloadCertificate" } } },
    has: "  - csi:\n      driver: workloadcertificates.security.cloud.google.com\n    name: gke-workload-certificate\n",
  },
  {
    given: { values: { pilot: { env: { ENABLE_CLUSTER_TRUST_BUNDLE_API: true } } } },
    has: "- clusterTrustBundle:\n          name: istio.io:istiod-ca:root-cert\n          path: root-cert.pem\n",
  },
  {
    given: {
      values: { global: { proxy: { tracer: "lightstep" } } },
      meshConfig: { defaultConfig: { tracing: { tlsSettings: { caCertificates: "/etc/lightstep/ca.pem" } } } },
    },
    has: "- mountPath: /etc/lightstep/\n      name: lightstep-certs\n      readOnly: true\n",
  },
  {
    given: {
      values: { global: { proxy: { tracer: "datadog" } } },
      annotations: { "apm.datadoghq.com/env": '{"DD_ENV":"prod","DD_A":"x"}' },
    },
    has: "- name: DD_A\n      value: x\n    - name: DD_ENV\n      value: prod\n",
  },
  {
    given: { annotations: { "sidecar.istio.io/capNetBindService": "true" } },
    has: "add:\n        - NET_BIND_SERVICE\n        drop:\n        - ALL\n",
  },
  {
    given: metadata({ IPTABLES_TRACE_LOGGING: "true" }),
    has: "privileged: true\n      readOnlyRootFilesystem: true\n      runAsGroup: 1337\n      runAsNonRoot: false\n      runAsUser: 0\n",
  },
  { given: metadata({ ISTIO_META_ENABLE_HBONE: "true" }), has: "networking.istio.io/tunnel: http\n" },
  {
    given: metadata({ ENVOY_SECURE_MERGED_METRICS_PORT: "15443" }),
    has: 'prometheus.istio.io/secure-port: "15443"\n',
  },
  {
    given: { values: { global: { sts: { servicePort: 15463 }, logAsJson: true, proxy: { outlierLogPath: "/o" } } } },
    has: "- --stsPort=15463\n    - --log_as_json\n    - --outlierLogPath=/o\n",
  },
  {
    given: { values: { global: { nativeNftables: true, proxy_init: { forceApplyIptables: true } } } },
    has: "- --force-apply\n    - --native-nftables\n",
  },
  {
    given: { values: { global: { proxy: { seccompProfile: { type: "RuntimeDefault" } } } } },
    has: "seccompProfile:\n        type: RuntimeDefault\n",
  },
  {
    given: { annotations: { "sidecar.istio.io/bootstrapOverride": "mine" } },
    has: "- configMap:\n      name: mine\n    name: custom-bootstrap-volume\n",
  },
])("a sidecar of $given has $has", ({ given, has }) => {
  expect(injected(given)).toContain(has);
  expect(injected({})).not.toContain(has);
});

test("a status port of 0 leaves the proxy without probes", () => {
  expect(injected({})).toContain("/healthz/ready");
  expect(injected({ annotations: { "status.sidecar.istio.io/port": "0" } })).not.toContain("/healthz/ready");
});

test("grpc-simple writes the bootstrap of a program that speaks xDS itself, and adds no proxy", () => {
  const text = injected({ annotations: { "inject.istio.io/templates": "grpc-simple" } });
  expect(text).not.toContain("istio-proxy");
  expect(text).toContain("name: grpc-bootstrap-init\n");
  expect(text).toContain('SERVER_URI="dns:///istiod.');
  expect(text).toContain("- name: GRPC_XDS_BOOTSTRAP\n      value: /var/lib/grpc/data/bootstrap.json\n");
  expect(text).toContain('sidecar.istio.io/rewriteAppHTTPProbers: "false"\n');
});
