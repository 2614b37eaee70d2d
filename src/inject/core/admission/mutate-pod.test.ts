import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../../../test/support/growth-factor.ts";
import { injectionSettings } from "../../../../test/support/inject/settings.ts";
import { applyPatch } from "../documents/uninject-document.ts";
import type { Json } from "../json.ts";
import { mutatePod } from "./mutate-pod.ts";

const SETTINGS = injectionSettings();

const APP = { name: "app", image: "app:1" };
const items = (count: number, item: (index: number) => Json) =>
  Array.from({ length: count }, (_, index) => item(index));
const texts = (count: number) => Object.fromEntries(items(count, () => ({})).map((_, index) => [`k${index}`, "v"]));

interface Shape {
  readonly annotations?: Json;
  readonly labels?: Json;
  readonly [member: string]: unknown;
}

const mutate = ({ annotations = {}, labels = {}, ...spec }: Shape) => {
  const pod = { metadata: { name: "p", annotations, labels }, spec: { containers: [APP], ...spec } };
  return { pod, ...mutatePod({ pod, namespace: "ns", proxyEnv: {}, openshift: undefined }, SETTINGS) };
};

/** What whoever may create pods can send: API servers check pods only after they were reviewed. */
const HOSTILE: readonly { readonly name: string; readonly shape: (n: number) => Shape }[] = [
  { name: "annotations", shape: (n) => ({ annotations: texts(n) }) },
  { name: "labels", shape: (n) => ({ labels: texts(n) }) },
  { name: "containers", shape: (n) => ({ containers: items(n, (index) => ({ ...APP, name: `c${index}` })) }) },
  { name: "init containers", shape: (n) => ({ initContainers: items(n, (index) => ({ ...APP, name: `i${index}` })) }) },
  { name: "volumes", shape: (n) => ({ volumes: items(n, (index) => ({ name: `v${index}`, emptyDir: {} })) }) },
  {
    name: "ports, variables and mounts of the proxy",
    shape: (n) => ({
      containers: [
        {
          name: "istio-proxy",
          image: "auto",
          ports: items(n, (index) => ({ containerPort: index })),
          env: items(n, (index) => ({ name: `E${index}`, value: "x" })),
          volumeMounts: items(n, (index) => ({ name: "v", mountPath: `/m${index}` })),
        },
      ],
    }),
  },
];

test.each(HOSTILE)("many $name: the time grows as the pod does", ({ shape }) => {
  expect(growthFactor((count) => void mutate(shape(count)), 500)).toBeLessThan(BELOW_SQUARE);
});

test("of a pod with more containers than a comparison is worth the patch is still right, and short", () => {
  const initContainers = items(2000, (index) => ({ ...APP, name: `i${index}` }));
  const holds = { "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true" };
  const { pod, patch } = mutate({
    annotations: holds,
    initContainers,
    containers: items(2000, (index) => ({ ...APP, name: `c${index}` })),
  });
  const { spec } = applyPatch(pod, patch) as { spec: Record<"containers" | "initContainers", { name: string }[]> };
  expect(spec.containers.map(({ name }) => name).slice(0, 2)).toEqual(["istio-proxy", "c0"]);
  expect(spec.initContainers.map(({ name }) => name).slice(-2)).toEqual(["i1999", "istio-init"]);
  // The proxy alone is written, not all that stand behind it.
  expect(patch.filter(({ path }) => path.startsWith("/spec/containers/"))).toHaveLength(1);
});

test("a ProxyConfig that is too long to be read at once is refused before it is read", () => {
  const long = `# ${"x".repeat(40_000)}`;
  expect(() => mutate({ annotations: { "proxy.istio.io/config": long } })).toThrow(
    /invalid value '# x{1022}\.\.\.' for annotation 'proxy\.istio\.io\/config': it has 40002 characters, allowed are 32768\n/,
  );
});
