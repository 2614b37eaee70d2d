import { printYaml } from "../../../src/files/yaml/print-yaml.ts";
import { NAMESPACE, RELEASES, renderChart } from "./render-chart.ts";

const HEADER =
  "# Generated from deploy/charts with their default values by scripts/generate-deploy.mjs; edit the charts instead.\n";

/** The files of deploy/manifests by name, in the order in which `kubectl apply -f deploy/manifests` takes them. */
export async function manifestFiles(): Promise<ReadonlyMap<string, string>> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
  const files = new Map([["0-namespace.yaml", HEADER + printYaml(namespace)]]);
  for (const [at, [chart, release]] of RELEASES.entries()) {
    files.set(`${at + 1}-${release}.yaml`, HEADER + (await renderChart(chart, release)));
  }
  return files;
}
