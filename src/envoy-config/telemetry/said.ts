import type { ObjectRef } from "../../istio-api/config-object.ts";
import type { TelemetryLayer } from "../../mesh-model/telemetry.ts";

/** Which side of a call reports. */
export type ReportingMode = "CLIENT" | "SERVER";

/** Who says something about telemetry: an object at one of three levels, the mesh settings, or what holds without any of them. */
export interface Speaker {
  readonly level: TelemetryLayer["level"] | "mesh settings" | "proxy configuration" | "built-in";
  readonly object?: ObjectRef;
  /** Inside the spec of the object, or of the mesh settings. */
  readonly path: readonly (string | number)[];
}

/** One thing that was said. Of several about one subject the last holds. */
export interface Said {
  readonly subject: string;
  readonly value: string;
  readonly by: Speaker;
}

export function speaker({ level, object }: TelemetryLayer, ...path: readonly (string | number)[]): Speaker {
  const { kind, namespace, name } = object;
  return { level, object: { kind, namespace, name }, path };
}

/** An entry for one side is not about the other. */
export function isFor(
  mode: ReportingMode,
  match: { readonly mode: ReportingMode | "CLIENT_AND_SERVER" } | undefined,
): boolean {
  return match === undefined || match.mode === "CLIENT_AND_SERVER" || match.mode === mode;
}
