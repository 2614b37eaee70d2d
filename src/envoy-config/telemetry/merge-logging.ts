import type { TelemetryAccessLogging } from "../../istio-api/specs/telemetry.ts";

export type LoggingMode = "CLIENT" | "SERVER";

/** What is to be done with one provider. */
export interface LoggingChoice {
  readonly isDisabled: boolean;
  /** A CEL expression; empty: everything is logged. */
  readonly filter: string;
}

/**
 * Providers of one direction by name. The innermost layer that names providers says which ones there are; entries without providers are
 * about those that the entry before them was about.
 */
export function mergeLogging(
  layers: readonly (readonly TelemetryAccessLogging[])[],
  defaults: readonly string[],
  mode: LoggingMode,
): ReadonlyMap<string, LoggingChoice> {
  const isMeant = ({ match }: TelemetryAccessLogging) =>
    match === undefined || match.mode === "CLIENT_AND_SERVER" || match.mode === mode;
  if (layers.length === 0) return new Map(defaults.map((name) => [name, { isDisabled: false, filter: "" }]));
  const named = layers.map((layer) => layer.filter(isMeant).flatMap(namesOf));
  const inScope = new Set(named.findLast((names) => names.length > 0) ?? defaults);
  const filters = new Map<string, string>();
  const isOff = new Map<string, boolean>();
  let about = defaults;
  for (const entry of layers.flat()) {
    const names = namesOf(entry);
    if (names.length > 0) about = names;
    if (!isMeant(entry)) continue;
    for (const name of about) {
      // Naming a provider again without a filter takes its filter away; saying something else of it does not.
      if (names.length > 0 || entry.filter !== undefined) filters.set(name, entry.filter?.expression ?? "");
      isOff.set(name, entry.disabled === true);
    }
  }
  return new Map(
    [...isOff]
      .filter(([name]) => inScope.has(name))
      .map(([name, isDisabled]) => [name, { isDisabled, filter: filters.get(name) ?? "" }]),
  );
}

function namesOf({ providers }: TelemetryAccessLogging): readonly string[] {
  return providers.map(({ name }) => name);
}
