import { fields, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { AnalyzedMesh } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";

/** Access logs without a provider, where the mesh has no default one. */
export function telemetryProviders(mesh: AnalyzedMesh, report: ReportFinding): void {
  const { accessLogging } = fields(mesh.settings.source.defaultProviders);
  if (Array.isArray(accessLogging) && accessLogging.length > 0) return;
  for (const { document, rule } of mesh.rules("Telemetry")) {
    rule.spec.accessLogging.forEach(({ disabled, providers }, at) => {
      if (disabled === true || providers.length > 0) return;
      const message = "access logging names no provider and the mesh has no default one: it is ignored";
      report("InvalidTelemetryProvider", document, message, ["spec", "accessLogging", at]);
    });
  }
}

/** Providers that will go. */
export function deprecatedProviders(mesh: AnalyzedMesh, report: ReportFinding): void {
  const providers = listOf(mesh.settings.source.extensionProviders);
  const old = new Set(providers.filter(({ lightstep }) => lightstep !== undefined).map(({ name }) => textOf(name)));
  for (const { document, rule } of mesh.rules("Telemetry")) {
    rule.spec.tracing.forEach(({ providers: named }, at) => {
      for (const { name } of named) {
        if (!old.has(name)) continue;
        const message = `the Lightstep provider ${name} is deprecated; use an OpenTelemetry provider`;
        report("Deprecated", document, message, ["spec", "tracing", at, "providers"]);
      }
    });
  }
}
