import fc from "fast-check";
import { expect, test } from "vitest";
import { injectionSettings } from "../../../test/support/inject/settings.ts";
import { mutatePod } from "./admission/mutate-pod.ts";
import { injectDocument } from "./documents/inject-document.ts";
import { applyPatch, uninjectDocument } from "./documents/uninject-document.ts";
import type { Json } from "./json.ts";
import { normalize } from "./schema/normalize.ts";

const BUILT = [injectionSettings(), injectionSettings({ native: true })] as const;
const NETWORKED = [false, true].map((native) =>
  injectionSettings({ native, values: { global: { network: "n1", multiCluster: { clusterName: "c1" } } } }),
);
const settings = (native: boolean) => BUILT[native ? 1 : 0];

const name = fc.constantFrom("app", "web", "db", "cache");
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const port = fc.record({
  containerPort: fc.integer({ min: 1, max: 9999 }),
  name: some(fc.constantFrom("http", "grpc")),
});
const action = fc.oneof(
  fc.record({ httpGet: fc.record({ path: fc.constantFrom("/", "/ok"), port: fc.constantFrom(80, "http", "none") }) }),
  fc.record({ tcpSocket: fc.record({ port: fc.constantFrom(81, "http") }) }),
  fc.record({ grpc: fc.record({ port: fc.constant(82) }) }),
  fc.record({ exec: fc.record({ command: fc.constant(["true"]) }) }),
);
const probe = fc
  .tuple(action, fc.integer({ min: 0, max: 9 }))
  .map(([chosen, timeoutSeconds]) => ({ ...chosen, timeoutSeconds }));
const container = fc.record(
  {
    name,
    image: fc.constant("image:1"),
    ports: fc.uniqueArray(port, { maxLength: 2, selector: ({ containerPort }) => containerPort }),
    env: fc.constant([{ name: "A", value: "1" }, { name: "B" }]),
    readinessProbe: probe,
    livenessProbe: probe,
    resources: fc.constantFrom({}, { limits: { cpu: "2000m" } }),
  },
  { requiredKeys: ["name", "image"] },
);
const proxy = fc.record(
  { name: fc.constant("istio-proxy"), image: fc.constantFrom("auto", "mine:1"), args: fc.constant(["x"]) },
  { requiredKeys: ["name", "image"] },
);
const pod = fc
  .record({
    labels: fc.dictionary(
      fc.constantFrom("app", "version", "security.istio.io/tlsMode", "service.istio.io/canonical-name"),
      fc.constantFrom("web", "istio", "v1"),
    ),
    annotations: fc.dictionary(
      fc.constantFrom("a/b", "prometheus.io/scrape", "prometheus.io.path", "kubectl.kubernetes.io/default-container"),
      fc.constantFrom("true", "web"),
    ),
    containers: fc.uniqueArray(container, { minLength: 1, maxLength: 3, selector: (item) => item.name }),
    proxy: some(proxy),
    initContainers: some(fc.uniqueArray(container, { maxLength: 2, selector: (item) => item.name })),
    volumes: some(fc.constant([{ name: "data", emptyDir: {} }])),
  })
  .map(({ labels, annotations, containers, proxy: own, initContainers, volumes }) => ({
    metadata: { name: "p", labels, annotations },
    spec: {
      containers: own === undefined ? containers : [...containers, own],
      ...(initContainers && { initContainers: initContainers.map((item) => ({ ...item, name: `init-${item.name}` })) }),
      ...(volumes && { volumes }),
    },
  }));
const OPTIONS = { strict: false };
/** Each run injects up to three times. */
const RUNS = { numRuns: 40 };

test("the webhook's patch makes the sent pod the one that the command prints", () => {
  fc.assert(
    fc.property(pod, fc.boolean(), (given, native) => {
      const document = { apiVersion: "v1", kind: "Pod", ...given };
      const { patch } = mutatePod(
        { pod: document, namespace: "", proxyEnv: {}, openshift: undefined },
        settings(native),
      );
      const patched = normalize("Pod", applyPatch(document, patch));
      const injected = injectDocument(document, settings(native), { strict: true })?.document;
      expect(patched).toEqual(injected);
    }),
    RUNS,
  );
});

test("injecting twice equals once", () => {
  fc.assert(
    fc.property(pod, fc.constantFrom(...BUILT, ...NETWORKED), (given, chosen) => {
      const once = injectDocument({ apiVersion: "v1", kind: "Pod", ...given }, chosen, OPTIONS)?.document;
      expect(injectDocument(once, chosen, OPTIONS)?.document).toEqual(once);
    }),
    RUNS,
  );
});

test.each(["Deployment", "Pod", "CronJob"])(
  "taking the proxy out of an injected %s gives the original back",
  (kind) => {
    fc.assert(
      fc.property(pod, fc.boolean(), (given, native) => {
        const specs: Readonly<Record<string, Json>> = {
          Pod: { apiVersion: "v1", kind, ...given },
          Deployment: { apiVersion: "apps/v1", kind, metadata: { name: "d" }, spec: { template: given } },
          CronJob: {
            apiVersion: "batch/v1",
            kind,
            metadata: { name: "c" },
            spec: { jobTemplate: { spec: { template: given } } },
          },
        };
        const document = specs[kind];
        const injected = injectDocument(document, settings(native), OPTIONS)?.document;
        expect(uninjectDocument(injected)).toEqual(normalize(kind, document));
      }),
    );
  },
);

test("containers and init containers of other webhooks keep their order", () => {
  fc.assert(
    fc.property(pod, fc.boolean(), (given, native) => {
      const { document } = injectDocument({ apiVersion: "v1", kind: "Pod", ...given }, settings(native), OPTIONS) ?? {};
      const spec = (document?.spec ?? {}) as Record<string, readonly { name: string }[]>;
      const own = (list: readonly { readonly name: string }[] | undefined) =>
        (list ?? []).map((item) => item.name).filter((item) => !item.startsWith("istio-"));
      expect(own(spec.containers)).toEqual(own(given.spec.containers));
      expect(own(spec.initContainers)).toEqual(own(given.spec.initContainers));
    }),
    RUNS,
  );
});
