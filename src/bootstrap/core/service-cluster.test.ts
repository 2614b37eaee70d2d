import { expect, test } from "vitest";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { nodeLocality, serviceCluster } from "./node-descriptor.ts";

const DEFAULT_LABELS = ["app", "app.kubernetes.io/name", "service.istio.io/canonical-name"];
const cluster = (
  config: ProxyConfig,
  labels: Record<string, string>,
  { workloadName = "", namespace = "", names = DEFAULT_LABELS as readonly string[] | null } = {},
) => serviceCluster(config, { labels: new Map(Object.entries(labels)), workloadName, namespace }, names);

const both = { app: "legacy-app", "app.kubernetes.io/name": "k8s-app" };
const canonical = { "service.istio.io/canonical-name": "canonical-name" };

test.each([
  { config: {}, labels: both, at: { namespace: "default" }, name: "legacy-app.default" },
  { config: {}, labels: canonical, at: { namespace: "default" }, name: "canonical-name.default" },
  { config: { serviceCluster: "my-service" }, labels: both, at: { namespace: "default" }, name: "my-service" },
  {
    config: { serviceCluster: "istio-proxy" },
    labels: both,
    at: { workloadName: "w", namespace: "d" },
    name: "legacy-app.d",
  },
  { config: {}, labels: {}, at: { workloadName: "w", namespace: "d" }, name: "w.d" },
  { config: {}, labels: {}, at: { namespace: "d" }, name: "istio-proxy.d" },
  { config: {}, labels: {}, at: {}, name: "istio-proxy" },
  { config: {}, labels: { app: "a" }, at: {}, name: "a." },
  {
    config: { tracingServiceName: "APP_LABEL_AND_NAMESPACE" as const },
    labels: both,
    at: { namespace: "d" },
    name: "legacy-app.d",
  },
  {
    config: { tracingServiceName: "CANONICAL_NAME_ONLY" as const },
    labels: both,
    at: { namespace: "d" },
    name: "k8s-app",
  },
  {
    config: { tracingServiceName: "CANONICAL_NAME_ONLY" as const },
    labels: {},
    at: { namespace: "d" },
    name: "istio-proxy.d",
  },
  {
    config: { tracingServiceName: "CANONICAL_NAME_AND_NAMESPACE" as const },
    labels: canonical,
    at: { namespace: "d" },
    name: "canonical-name.d",
  },
  {
    config: { tracingServiceName: "CANONICAL_NAME_AND_NAMESPACE" as const },
    labels: {},
    at: { workloadName: "w" },
    name: "w",
  },
  { config: { serviceCluster: "istio-proxy" }, labels: both, at: { names: null }, name: "istio-proxy" },
  { config: {}, labels: canonical, at: { names: ["app"], namespace: "d" }, name: "istio-proxy.d" },
])("$config with $labels in $at is $name", ({ config, labels, at, name }) => {
  expect(cluster(config, labels, at)).toBe(name);
});

const NAMES = ["topology.istio.io/locality", "istio-locality"];

test.each([
  {
    label: "region.zone.subzone",
    locality: { region: "region", zone: "zone", sub_zone: "subzone" },
    written: "region/zone/subzone",
  },
  {
    label: "region/zone/subzone.2",
    locality: { region: "region", zone: "zone", sub_zone: "subzone.2" },
    written: "region/zone/subzone.2",
  },
  { label: "region", locality: { region: "region" }, written: "region" },
  { label: "a/b/c/d", locality: { region: "a", zone: "b", sub_zone: "c" }, written: "a/b/c/d" },
])("the locality label $label", ({ label, locality, written }) => {
  const labels = new Map([["topology.istio.io/locality", label]]);
  expect(nodeLocality(labels, NAMES, { region: "platform" })).toEqual(locality);
  expect(labels.get("istio-locality")).toBe(written);
});

test("an empty preferred label means the platform's locality, regardless of what the other label says", () => {
  const labels = new Map([
    ["topology.istio.io/locality", ""],
    ["istio-locality", "a.b"],
  ]);
  expect(nodeLocality(labels, NAMES, { region: "r", zone: "z" })).toEqual({ region: "r", zone: "z" });
});
