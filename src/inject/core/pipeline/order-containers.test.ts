import { expect, test } from "vitest";
import { orderContainers } from "./order-containers.ts";

const list = (names: string) => names.split(" ").map((name) => ({ name }));
const names = (containers: unknown) => (containers as { readonly name: string }[]).map(({ name }) => name).join(" ");
const pod = (position: string, spec: object) => ({
  metadata: { annotations: { "inject.pilot-agent.io/position": position } },
  spec,
});

test.each([
  { position: "", order: "a b istio-proxy" },
  { position: "first", order: "istio-proxy a b" },
  { position: "last", order: "a b istio-proxy" },
  { position: "before=b", order: "a istio-proxy b" },
  { position: "after=a", order: "a istio-proxy b" },
])("a pod that declares '$position' has its containers as $order, also the second time", ({ position, order }) => {
  const once = orderContainers(pod(position, { containers: list("istio-proxy a b") }), false);
  const { spec } = orderContainers(once, false) as { readonly spec: { readonly containers: unknown } };
  expect(names(spec.containers)).toBe(order);
});

test.each([
  { position: "", order: "istio-init istio-proxy x y" },
  { position: "after=x", order: "x istio-init istio-proxy y" },
  { position: "last", order: "x y istio-init istio-proxy" },
])("a native proxy that declares '$position' takes capture along: $order", ({ position, order }) => {
  const given = pod(position, { containers: list("a"), initContainers: list("x istio-proxy y istio-init") });
  const { spec } = orderContainers(given, false) as { readonly spec: { readonly initContainers: unknown } };
  expect(names(spec.initContainers)).toBe(order);
});

test.each([
  { position: "middle", says: "allowed are first, last, before=CONTAINER and after=CONTAINER" },
  { position: "after=c", says: "there is no container c beside the proxy, there are: a, b" },
])("the position $position is refused: $says", ({ position, says }) => {
  expect(() => orderContainers(pod(position, { containers: list("a b istio-proxy") }), false)).toThrow(says);
});
