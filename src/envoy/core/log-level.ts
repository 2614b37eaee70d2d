export interface EnvoyLogLevels {
  /** For `-l`; empty when the text names no global level. */
  readonly level: string;
  /** For `--component-log-level`; empty when there are none. */
  readonly components: string;
  /** Items with more than one colon, to be warned about. */
  readonly dropped: readonly string[];
}

/** Splits `--proxyLogLevel` ("misc:warn,info"); `legacyComponents` is used when the text names no component itself. */
export function splitProxyLogLevel(text: string, legacyComponents = ""): EnvoyLogLevels {
  const items = text.split(",");
  const parts = items.map((item) => item.split(":").length);
  const components = items.filter((_, index) => parts[index] === 2);
  return {
    level: items.findLast((_, index) => parts[index] === 1) ?? "",
    components: components.length > 0 ? components.join(",") : legacyComponents,
    dropped: items.filter((_, index) => (parts[index] ?? 0) > 2),
  };
}
