import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { pathEnvironment } from "../../../src/inject/core/admission/path-environment.ts";
import { checkAnnotations } from "../../../src/inject/core/annotation-checks.ts";
import { excludeInboundPort } from "../../../src/inject/core/builtin/inbound-ports.ts";
import { appendMultusNetwork } from "../../../src/inject/core/builtin/multus.ts";
import { otelResourceAttributes } from "../../../src/inject/core/builtin/otel.ts";
import { decideInjection } from "../../../src/inject/core/decide.ts";
import { proxyImage } from "../../../src/inject/core/image.ts";
import { asObject, type Json, objects, textMap } from "../../../src/inject/core/json.ts";
import { detectNativeSidecar, type NativeSidecarMode } from "../../../src/inject/core/native-sidecar.ts";
import { rewriteAppProbes } from "../../../src/inject/core/pipeline/app-probes.ts";
import { containersOf, findProxy } from "../../../src/inject/core/pipeline/containers.ts";
import { mergeMetrics } from "../../../src/inject/core/pipeline/metrics-merge.ts";
import { INJECTION_RULES } from "../../../src/inject/core/rules.ts";
import { normalize } from "../../../src/inject/core/schema/normalize.ts";
import { Values } from "../../../src/inject/core/values.ts";
import { CURRENT_PROXY_CONFIG_RULES } from "../../../src/istio-api/proxy-config/proxy-config-rules.ts";
import type { ConformanceCase } from "../family.ts";

type Vector = Readonly<Record<string, unknown>>;
const STATUS_PORT = 15020;
const PROXY = { name: "istio-proxy" };

/** What a kind of vector asks of the code; the result is compared with what the vector wants. */
const RUNNERS: Readonly<Record<string, (vector: Vector) => string | undefined>> = {
  decision: (vector) =>
    difference(
      vector.want,
      decideInjection(
        {
          metadata: { labels: vector.labels, annotations: vector.annotations },
          spec: { hostNetwork: vector.hostNetwork },
        },
        String(vector.namespace),
        {
          policy: String(vector.policy),
          neverInjectSelector: objects(vector.neverInjectSelector),
          alwaysInjectSelector: objects(vector.alwaysInjectSelector),
        },
        INJECTION_RULES.current,
      ).inject,
    ),
  inject_path_env: ({ path, want }) => difference(want, pathEnvironment(String(path)).env),
  proxy_image: ({ hub, tag, proxyConfigImageType, annotationImageType, want }) => {
    const annotation = typeof annotationImageType === "string" ? annotationImageType : undefined;
    return difference(
      want,
      proxyImage(new Values({ global: { hub, tag } }), "proxy", String(proxyConfigImageType), annotation),
    );
  },
  multus_append: ({ network, existing, want }) =>
    difference(want, appendMultusNetwork(String(existing), String(network))),
  otel_resource_attributes: (vector) => {
    const serviceAttributeEnrichment = vector.enabled === true ? "OTEL_SEMANTIC_CONVENTIONS" : "ISTIO_CANONICAL";
    const containers = (vector.containers as [string, string][] | undefined) ?? [];
    return difference(
      vector.want,
      otelResourceAttributes(
        { extensionProviders: [{ name: "otel", opentelemetry: { serviceAttributeEnrichment } }] },
        textMap(vector.annotations),
        textMap(vector.labels),
        String(vector.namespace),
        containers.map(([name, image]) => ({ name, image })),
      ),
    );
  },
  native_sidecar_detection: ({ mode, kubelets, want }) =>
    difference(want, detectNativeSidecar(mode as NativeSidecarMode, kubelets as string[])),
  resource_quantity_annotation: ({ value, valid }) =>
    difference(
      valid,
      failureOf(() =>
        checkAnnotations(
          { "sidecar.istio.io/proxyCPU": String(value) },
          INJECTION_RULES.current,
          CURRENT_PROXY_CONFIG_RULES,
        ),
      ) === undefined,
    ),
  exclude_inbound_ports: ({ statusPort, excludeInboundPorts, want }) =>
    difference(want, excludeInboundPort(String(statusPort), String(excludeInboundPorts))),
  prometheus_merge: metricsDifference,
  app_probers: probersDifference,
};

export async function vectorCases(dir: string): Promise<readonly ConformanceCase[]> {
  const vectors = await readVectors(join(dir, "vectors.json"));
  return Object.entries(vectors).flatMap(([kind, rows]) =>
    rows.map(
      (vector, index): ConformanceCase => ({
        name: `${kind} ${typeof vector.id === "string" ? vector.id : index + 1}`,
        run: async () => {
          const run = RUNNERS[kind];
          return run === undefined ? `no runner for vectors of kind ${kind}` : run(vector);
        },
      }),
    ),
  );
}

async function readVectors(file: string): Promise<Readonly<Record<string, readonly Vector[]>>> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Record<string, readonly Vector[]>;
  } catch (failure) {
    // A folder may have whole workloads only.
    if ((failure as { code?: string }).code === "ENOENT") return {};
    throw failure;
  }
}

function metricsDifference(vector: Vector): string | undefined {
  const pod: Json = { metadata: { annotations: vector.annotations }, spec: { containers: [PROXY] } };
  let merged: Json = {};
  const failure = failureOf(() => {
    merged = mergeMetrics(pod, STATUS_PORT, true);
  });
  const wanted = vector.error_contains as readonly string[] | undefined;
  if (wanted !== undefined) return wanted.every((text) => failure?.includes(text)) ? undefined : `got error ${failure}`;
  if (failure !== undefined) return failure;
  if (vector.unchanged === true) return difference(pod, merged);
  const variable = objects(findProxy(merged)?.env).find(({ name }) => name === "ISTIO_PROMETHEUS_ANNOTATIONS");
  return (
    difference(vector.want_annotations, asObject(merged.metadata).annotations) ??
    difference(vector.want_env, variable?.value ?? null)
  );
}

function probersDifference({ container, want_env, want_probe, ...probes }: Vector): string | undefined {
  const app = { name: container, ...probes };
  const pod = normalize("PodTemplateSpec", { spec: { containers: [app, PROXY] } });
  const rewritten = rewriteAppProbes(pod, {
    statusPort: STATUS_PORT,
    isEnabledByValues: true,
    rules: INJECTION_RULES.current,
  });
  const variable = objects(findProxy(rewritten)?.env)[0];
  const result = containersOf(rewritten, "containers")[0] ?? {};
  return (
    difference(want_env, JSON.parse(String(variable?.value))) ??
    Object.entries(asObject(want_probe))
      .map(([name, probe]) => difference(probe, result[name]))
      .find((found) => found !== undefined)
  );
}

function failureOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (failure) {
    return String(failure);
  }
}

function difference(expected: unknown, actual: unknown): string | undefined {
  return isDeepStrictEqual(expected, actual)
    ? undefined
    : `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
}
