import { expect, test } from "vitest";
import { injectionSettings } from "../../../../test/support/inject/settings.ts";
import { mutatePod } from "../admission/mutate-pod.ts";
import { injectText } from "../documents/inject-text.ts";
import { skipWarnings } from "../documents/skip-warnings.ts";
import { applyPatch } from "../documents/uninject-document.ts";
import type { Json } from "../json.ts";
import { parseNativeSidecarMode } from "../native-sidecar.ts";
import { INJECTION_RULES } from "../rules.ts";

type Release = keyof typeof INJECTION_RULES;

const settings = (release: Release, values: Json = {}, env: Readonly<Record<string, string>> = {}) =>
  injectionSettings({ release, values, env });

const deployment = (annotations: object = {}) =>
  JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "prod" },
    spec: {
      template: {
        metadata: { labels: { app: "web" }, annotations },
        spec: { containers: [{ name: "app", image: "i" }] },
      },
    },
  });

const inject = (given: ReturnType<typeof settings>, text: string) => injectText(text, given, { strict: true });

test("1.7 leaves what it has injected as it is, and says so", () => {
  const given = settings("1.7");
  const once = inject(given, deployment());
  const twice = inject(given, once.text);
  expect(twice.text).toBe(once.text);
  expect(skipWarnings(twice.outcomes, given.rules)).toEqual([
    'Skipping injection because "web" has injected "istio-proxy" sidecar already\n',
  ]);
});

test("1.7 without values has those of its installation", () => {
  const { text } = inject(settings("1.7"), deployment());
  expect(text).toContain("image: docker.io/istio/proxyv2:1.7.0");
  expect(text).toMatch(/failureThreshold: 30\n *httpGet:[\s\S]*?initialDelaySeconds: 1\n *periodSeconds: 2\n/);
  expect(text).toMatch(/requests:\n *cpu: 10m\n *memory: 10Mi\n/);
});

test("1.7 with a CNI plug-in checks capture instead of programming it, and names the network of one that is not chained", () => {
  const { text } = inject(settings("1.7", { istio_cni: { enabled: true, chained: false } }), deployment());
  expect(text).toContain("name: istio-validation");
  expect(text).toMatch(/- --run-validation\n *- --skip-rule-apply\n/);
  expect(text).not.toContain("NET_ADMIN");
  expect(text).toContain("k8s.v1.cni.cncf.io/networks: istio-cni");
  const chained = inject(settings("1.7", { istio_cni: { enabled: true } }), deployment());
  expect(chained.text).not.toContain("k8s.v1.cni.cncf.io/networks");
});

test.each(["1.20", "1.7"] as const)("%s prepares core dumps where the annotation asks for them", (release) => {
  const { text } = inject(settings(release), deployment({ "sidecar.istio.io/enableCoreDump": "true" }));
  expect(text).toContain("name: enable-core-dump");
  expect(inject(settings(release), deployment()).text).not.toContain("enable-core-dump");
});

test("the webhook of 1.7 labels the pod, gives the proxy its account and the path's variables, and leaves redirection alone", () => {
  const mount = { name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true };
  const pod = {
    metadata: { name: "web", labels: { version: "v1" }, annotations: { "prometheus.io/port": "8080" } },
    spec: { containers: [{ name: "app", image: "i", volumeMounts: [mount] }] },
  };
  const proxyEnv = { ISTIO_META_CLUSTER_ID: "c1" };
  const request = { pod, namespace: "prod", proxyEnv, openshift: undefined };
  const { patch } = mutatePod(request, settings("1.7"));
  const { metadata, spec } = applyPatch(pod, patch) as {
    metadata: { labels: object; annotations: object };
    spec: { containers: [object, { env: { name: string; value?: string }[]; volumeMounts: object[] }] };
  };
  expect(metadata.labels).toMatchObject({
    "istio.io/rev": "",
    "service.istio.io/canonical-name": "web",
    "service.istio.io/canonical-revision": "v1",
  });
  expect(Object.keys(metadata.annotations).filter((name) => name.includes("traffic.sidecar"))).toEqual([]);
  const [, proxy] = spec.containers;
  expect(proxy.volumeMounts).toContainEqual(mount);
  const variable = (wanted: string) => proxy.env.filter(({ name }) => name === wanted).map(({ value }) => value);
  expect(variable("JWT_POLICY")).toEqual(["third-party-jwt"]);
  expect(variable("ISTIO_META_CLUSTER_ID")).toEqual(["c1"]);
  expect(variable("ISTIO_PROMETHEUS_ANNOTATIONS")).toEqual(['{"scrape":"","path":"","port":"8080"}']);
});

test("1.20 has the loopback by the injector's environment, native sidecars by its switch alone, and a chained plug-in", () => {
  const asked = { "sidecar.istio.io/nativeSidecar": "true" };
  const local = settings("1.20", { istio_cni: { enabled: true } }, { PILOT_ENABLE_INBOUND_PASSTHROUGH: "false" });
  const { text } = inject(local, deployment(asked));
  expect(text).toContain("REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION");
  expect(text).not.toContain("restartPolicy: Always");
  expect(text).not.toContain("k8s.v1.cni.cncf.io/networks");
  expect(inject(settings("1.20"), deployment()).text).not.toContain("REWRITE_PROBE_LEGACY");
  expect(parseNativeSidecarMode(undefined, INJECTION_RULES["1.20"])).toEqual({ mode: "disabled" });
  expect(parseNativeSidecarMode("true", INJECTION_RULES["1.20"])).toEqual({ mode: "enabled" });
});
