import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runProgram } from "../../../src/process/run-program.ts";
import { programPath } from "../kubernetes/binaries.ts";

const CHARTS = resolve(import.meta.dirname, "../../../deploy/charts");

export type Chart = "base" | "istiod" | "gateway";

/** The namespace of the plain manifests. */
export const NAMESPACE = "istio-system";

/** The releases that the plain manifests are; the gateway has the name that the reference's documents use. */
export const RELEASES: readonly (readonly [chart: Chart, release: string])[] = [
  ["base", "istio-base"],
  ["istiod", "istiod"],
  ["gateway", "istio-ingressgateway"],
];

/** What `helm template` prints with `--set` for each of the values; rejects with helm's own message. */
export async function renderChart(
  chart: Chart,
  release: string,
  values: readonly string[] = [],
  namespace = NAMESPACE,
): Promise<string> {
  const set = values.flatMap((value) => ["--set", value]);
  return helm(["template", release, join(CHARTS, chart), "--namespace", namespace, ...set]);
}

export async function lintChart(chart: Chart): Promise<string> {
  return helm(["lint", "--strict", join(CHARTS, chart)]);
}

/** `helm VERB RELEASE CHART` on a cluster. */
export async function helmRelease(
  { kubeconfig }: { readonly kubeconfig: string },
  verb: "install" | "upgrade",
  [chart, release]: readonly [chart: Chart, release: string],
  ...flags: readonly string[]
): Promise<string> {
  const target = ["--kubeconfig", kubeconfig, "--namespace", NAMESPACE];
  return helm([verb, release, join(CHARTS, chart), ...target, ...flags]);
}

export async function helmUninstall({ kubeconfig }: { readonly kubeconfig: string }, releases: readonly string[]) {
  await helm(["uninstall", ...releases, "--kubeconfig", kubeconfig, "--namespace", NAMESPACE]);
}

/** Helm looks for plugins and repositories in its user's home. */
async function helm(args: readonly string[]): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "pilot-agent-helm-"));
  try {
    const { code, stdout, output } = await runProgram(programPath("helm"), args, { env: { HOME: home } });
    if (code !== 0) throw new Error(`helm ${args.join(" ")}: ${output}`);
    return stdout;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
