import type { Tags } from "yaml";

/** Kinds the reference's YAML reader leaves as text although YAML 1.1 has types for them. */
const UNUSED_TAGS = ["timestamp", "binary", "omap", "pairs", "set"];

/**
 * YAML 1.1 as Go's sigs.k8s.io/yaml reads it: `yes` and `on` are booleans, the last of two equal keys wins, a date is text. For what
 * the Go programs read with it and whose files exist already: ProxyConfig, MeshConfig and the bootstrap override.
 */
export const GO_YAML = {
  version: "1.1",
  uniqueKeys: false,
  merge: true,
  // Envoy's 64-bit fields take more than a double holds.
  intAsBigInt: true,
  logLevel: "silent",
  customTags: (tags: Tags): Tags => tags.filter((tag) => !isUnused(tag)).map(withDigits),
} as const;

/**
 * YAML 1.2: `on` and `no` are text, as in JSON, and two equal keys are an error. For what people write for this program or for the
 * Kubernetes API, where a silent boolean or a lost key would be a wrong rule: rule objects and the mesh file.
 */
export const STRICT_YAML = { version: "1.2", merge: true, logLevel: "silent" } as const;

function isUnused(tag: unknown): boolean {
  if (typeof tag !== "object" || tag === null) return false;
  const { tag: uri, format } = tag as { tag?: string; format?: string };
  // Base 60 numbers ("1:30") are text as well.
  return UNUSED_TAGS.some((name) => uri?.endsWith(`:${name}`)) || format === "TIME";
}

/** The library takes a lone dot, or an exponent of nothing ("e1"), for a number, which then is none. */
function withDigits(tag: Tags[number]): Tags[number] {
  if (typeof tag !== "object" || !("test" in tag)) return tag;
  const { test } = tag;
  if (test === undefined || ![".", "e1"].some((text) => test.test(text))) return tag;
  return { ...tag, test: new RegExp(`^(?=[-+]?\\.?[0-9])${test.source.slice(1)}`) };
}
