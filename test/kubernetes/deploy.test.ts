import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifestFiles } from "../support/deploy/manifest-files.ts";
import { type Chart, lintChart, RELEASES, renderChart } from "../support/deploy/render-chart.ts";
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
