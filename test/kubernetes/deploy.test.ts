import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildWebhookConfiguration } from "../../src/inject/core/configuration/webhook-configuration.ts";
import { DEFAULT_VALUES } from "../../src/inject/core/default-values.ts";
import { INJECTION_RULES } from "../../src/inject/core/rules.ts";
import { decodeObject, hasErrors } from "../../src/istio-api/decode/decode-object.ts";
import { goldenPath, needsGoldenData } from "../conformance/golden-data.ts";
import { manifestFiles } from "../support/deploy/manifest-files.ts";
import {
  type Chart,
  helmRelease,
  helmUninstall,
  lintChart,
  RELEASES,
  renderChart,
} from "../support/deploy/render-chart.ts";
import { documentsOf, rulesBelow, wouldStore } from "../support/deploy/rule-files.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";

const MANIFESTS = join(import.meta.dirname, "../../deploy/manifests");

const cluster = sharedPlace(["kubernetes", "helm"], async (opened) => opened.add(await startKubernetes()));

test("the plain manifests are what the charts render with their default values (node scripts/generate-deploy.mjs)", async () => {
  const generated = await manifestFiles();
  expect(readdirSync(MANIFESTS).sort()).toEqual([...generated.keys()]);
  for (const [name, text] of generated) expect(readFileSync(join(MANIFESTS, name), "utf8"), name).toBe(text);
});

test.each(RELEASES.map(([chart]) => chart))("helm finds nothing wrong in the chart %s", async (chart) => {
  expect(await lintChart(chart)).toContain("0 chart(s) failed");
});

test.each([
  { chart: "istiod", value: "replicaCuont=3", says: "replicaCuont" },
  { chart: "istiod", value: "global.proxy.autoInject=on", says: "'enabled', 'disabled'" },
  { chart: "gateway", value: "service.type=Loadbalancer", says: "'LoadBalancer'" },
  { chart: "base", value: "base.enableCRDs=maybe", says: "want boolean" },
] as const)("the value $value of the chart $chart is refused with what is allowed", async ({ chart, value, says }) => {
  await expect(renderChart(chart as Chart, "any", [value])).rejects.toThrow(says);
});

test("kubectl takes the plain manifests as they are, twice", async () => {
  await cluster().kubectl(["apply", "--server-side", "-f", MANIFESTS]);
  const second = await cluster().kubectl(["apply", "--server-side", "-f", MANIFESTS, "-o", "name"]);
  expect(second.split("\n")).toContain("deployment.apps/istio-ingressgateway");
});

const failurePolicy = () =>
  cluster().kubectl([
    ...["get", "validatingwebhookconfiguration", "istiod-default-validator"],
    ...["-o", "jsonpath={.webhooks[0].failurePolicy}"],
  ]);

test("helm takes the installation over, leaves what the control plane wrote and uninstalls all but the definitions", async () => {
  const { kubectl } = cluster();
  for (const release of RELEASES)
    await helmRelease(cluster(), "install", release, "--take-ownership", "--force-conflicts");
  expect(await failurePolicy()).toBe("Ignore");
  const patch = JSON.stringify([{ op: "replace", path: "/webhooks/0/failurePolicy", value: "Fail" }]);
  const target = ["validatingwebhookconfiguration", "istiod-default-validator"];
  await kubectl(["patch", ...target, "--type=json", "-p", patch, "--field-manager=control-plane"]);
  for (const release of RELEASES) await helmRelease(cluster(), "upgrade", release);
  expect(await failurePolicy()).toBe("Fail");
  await helmUninstall(
    cluster(),
    RELEASES.map(([, release]) => release),
  );
  const left = await kubectl([
    "get",
    "crd,clusterrole,validatingwebhookconfiguration,mutatingwebhookconfiguration",
    "-o",
    "name",
  ]);
  expect(left).toContain("virtualservices.networking.istio.io");
  expect(left).not.toMatch(/istiod|istio-/);
});

test("every good rule object of the golden cases is taken, as kubectl would send it", async (context) => {
  needsGoldenData(context, goldenPath("discovery"));
  const refused: string[] = [];
  const objects = rulesBelow(goldenPath("discovery"));
  for (const { file, object } of objects) {
    if (hasErrors(decodeObject(object, { defaultNamespace: "default" }).problems)) continue;
    const reason = await wouldStore(cluster(), object);
    if (reason !== undefined) refused.push(`${file}: ${reason}`);
  }
  expect(refused).toEqual([]);
  expect(objects.length).toBeGreaterThan(50);
});

const rendered = async (chart: Chart, values: readonly string[] = []): Promise<readonly Manifest[]> =>
  documentsOf(await renderChart(chart, chart, values));

test.each([
  { what: "a revision with tags", chart: "istiod", values: ["revision=canary", "revisionTags={default,prod}"] },
  {
    what: "autoscaling",
    chart: "istiod",
    values: ["autoscaleEnabled=true", "sidecarInjectorWebhook.enableNamespacesByDefault=true"],
  },
  {
    what: "all rights",
    chart: "istiod",
    values: ["rbac.gatewaySecrets=true", "env.PILOT_ENABLE_STATUS=true", "platform=openshift"],
  },
  {
    what: "one replica",
    chart: "istiod",
    values: ["replicaCount=1", "global.tag=1.2", "global.imagePullSecrets={registry}"],
  },
  { what: "a reader for other clusters", chart: "base", values: ["reader.enabled=true", "defaultRevision=canary"] },
  {
    what: "a node port",
    chart: "gateway",
    values: ["service.type=NodePort", "autoscaling.enabled=false", "replicaCount=2", "env.A=b"],
  },
] as const)("$what: the API server takes what the chart $chart renders", async ({ chart, values }) => {
  await cluster().kubectl(["apply", "--server-side", "-f", join(MANIFESTS, "0-namespace.yaml")]);
  const text = await renderChart(chart, chart, values);
  await cluster().kubectl(["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"], text);
});

test.each([
  { revision: "", tag: "", values: [] },
  { revision: "", tag: "", values: ["sidecarInjectorWebhook.enableNamespacesByDefault=true"] },
  { revision: "canary", tag: "", values: ["revision=canary"] },
  { revision: "canary", tag: "default", values: ["revision=canary", "revisionTags={default}"] },
])(
  "the webhooks of revision '$revision', tag '$tag' and $values select what kube-inject webhook-config selects",
  async ({ revision, tag, values }) => {
    const wanted = buildWebhookConfiguration({
      revision,
      tag,
      systemNamespace: "istio-system",
      url: "",
      serviceName: "",
      path: "/inject",
      caBundle: "",
      namespacesByDefault: values.some((value) => value.includes("enableNamespacesByDefault")),
      selectsObjects: false,
      reinvocationPolicy: "Never",
      failurePolicy: "Fail",
      rules: INJECTION_RULES.current,
    }) as Manifest;
    const found = (await rendered("istiod", values)).find(
      ({ kind, metadata }) => kind === wanted.kind && metadata.name === wanted.metadata.name,
    );
    expect(found?.webhooks).toEqual(wanted.webhooks);
  },
);

test("a gateway that leads into a network has the label, the view and the ports by which other networks find it", async () => {
  const objects = documentsOf(await renderChart("gateway", "istio-eastwestgateway", ["networkGateway=network1"]));
  const service = objects.find(({ kind }) => kind === "Service");
  expect(service?.metadata.labels).toMatchObject({ "topology.istio.io/network": "network1" });
  const { ports = [] } = (service?.spec ?? {}) as { readonly ports?: readonly { readonly port: number }[] };
  expect(ports.map(({ port }) => port).toSorted()).toEqual([15012, 15017, 15021, 15443]);
  const deployment = JSON.stringify(objects.find(({ kind }) => kind === "Deployment"));
  expect(deployment).toContain('{"name":"ISTIO_META_REQUESTED_NETWORK_VIEW","value":"network1"}');
});

test("the account for other control planes reads Secrets and writes roots only where values say so", async () => {
  const rightsWith = async (...values: readonly string[]) => {
    const objects = documentsOf(await renderChart("base", "istio-base", ["reader.enabled=true", ...values]));
    const role = objects.find(
      ({ kind, metadata }) => kind === "ClusterRole" && metadata.name.startsWith("istio-reader"),
    );
    return JSON.stringify(role?.rules);
  };
  expect(await rightsWith()).not.toMatch(/secrets|configmaps|leases/);
  expect(await rightsWith("reader.gatewaySecrets=true")).toMatch(/secrets.*subjectaccessreviews/);
  expect(await rightsWith("reader.controlled=true")).toMatch(/configmaps.*leases/);
});

test("the values of injection are those that are built in, except for the image", async () => {
  const map = (await rendered("istiod")).find(({ metadata }) => metadata.name === "istio-sidecar-injector");
  const { global, ...rest } = JSON.parse((map?.data as Record<string, string> | undefined)?.values ?? "");
  const { global: builtin, ...others } = DEFAULT_VALUES as { global: Record<string, Record<string, unknown>> };
  const image = { image: "pilot-agent" };
  expect(rest).toEqual(others);
  expect(global).toEqual({
    ...builtin,
    hub: "localhost",
    tag: "0.1.0",
    configValidation: true,
    proxy: { ...builtin.proxy, ...image },
    proxy_init: { ...builtin.proxy_init, ...image },
  });
});

test("the charts and their images have the version of the package", () => {
  const version = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")).version;
  for (const [chart] of RELEASES) {
    const text = readFileSync(join(MANIFESTS, `../charts/${chart}/Chart.yaml`), "utf8");
    expect(documentsOf(text)[0]).toMatchObject({ version, appVersion: version });
  }
});
