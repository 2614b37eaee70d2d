import type { ValidationProblem } from "../proxy-config/explain-problems.ts";
import { TOPOLOGY } from "../values/topology-labels.ts";
import type { LocalityLbSetting } from "./mesh-config.ts";

/** Labels that already describe region, zone and subzone, which `failover` orders by itself. */
const TOPOLOGY_LABELS: ReadonlySet<string> = new Set([TOPOLOGY.region, TOPOLOGY.zone, TOPOLOGY.subzone]);

/** Contradictions in locality load balancing; the first of the early rules hides the rest, as in the reference. */
export function localityLbProblems(setting: LocalityLbSetting): readonly ValidationProblem[] {
  return [...reasons(setting)].map((message) => ({ field: "localityLbSetting", message }));
}

/** Zones and subzones are Envoy's own matter here: only regions are put in order. */
export function zoneAwareLbProblems(
  setting: Pick<LocalityLbSetting, "failover" | "failoverPriority">,
): readonly ValidationProblem[] {
  const { failover = [], failoverPriority = [] } = setting;
  const labels = failoverPriority
    .filter((name) => TOPOLOGY_LABELS.has(name))
    .map(
      (label) =>
        `'failover_priority' for zone aware lb must not use topology label '${label}'; region- and zone-level routing are handled automatically`,
    );
  return [...labels, ...regionReasons(failover, ZONE_AWARE_WORDS)].map((message) => ({
    field: "zoneAwareLbSetting",
    message,
  }));
}

const LOCALITY_WORDS = {
  same: "locality lb failover settings must specify different regions",
  finer: "locality lb failover only specify region",
  wildcard: "locality lb failover region should not contain '*' wildcard",
};
const ZONE_AWARE_WORDS = {
  same: "zone aware lb failover settings must specify different regions",
  finer: "zone aware lb failover only specifies region; zone and subzone failover are handled automatically",
  wildcard: "zone aware lb failover region should not contain '*' wildcard",
};

function* regionReasons(
  failover: NonNullable<LocalityLbSetting["failover"]>,
  words: typeof LOCALITY_WORDS,
): Generator<string> {
  for (const { from = "", to = "" } of failover) {
    if (from === to) yield words.same;
    if (from.includes("/") || to.includes("/")) yield words.finer;
    if (from.includes("*") || to.includes("*")) yield words.wildcard;
  }
}

function* reasons({ distribute = [], failover = [], failoverPriority = [] }: LocalityLbSetting): Generator<string> {
  if (distribute.length > 0 && failover.length > 0)
    return yield "can not simultaneously specify 'distribute' and 'failover'";
  const label = failover.length > 0 ? failoverPriority.find((name) => TOPOLOGY_LABELS.has(name)) : undefined;
  if (label !== undefined)
    return yield `can not simultaneously set 'failover' and topology label '${label}' in 'failover_priority'`;
  for (const { to = {} } of distribute) {
    const weights = Object.values(to);
    if (weights.some((weight) => weight <= 0 || weight > 100)) return yield "locality weight must be in range [1, 100]";
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    if (total !== 100) return yield `total locality weight ${total} != 100`;
    yield* localities(Object.keys(to));
  }
  yield* localities(distribute.map(({ from = "" }) => from));
  yield* regionReasons(failover, LOCALITY_WORDS);
}

/** Localities of one list must not cover each other; only the first problem of a list is reported. */
function* localities(names: readonly string[]): Generator<string> {
  const seen = createSeenLocalities();
  for (const name of names) {
    const stars = name.split("*").length - 1;
    if (stars > 1 || (stars === 1 && !name.endsWith("*"))) {
      return yield `locality ${name} wildcard '*' number can not exceed 1 and must be in the end`;
    }
    const parts = splitLocality(name);
    if (!seen.hasAll() && parts.some((part) => part === "")) {
      return yield `locality ${name} must not contain empty region/zone/subzone info`;
    }
    if (seen.overlap(parts)) return yield `locality ${name} overlap with previous specified ones`;
    seen.add(parts);
  }
}

/** At most region, zone and the rest. */
function splitLocality(name: string): string[] {
  const [region = "", zone, ...rest] = name.split("/");
  return [region, ...(zone === undefined ? [] : [zone]), ...(rest.length === 0 ? [] : [rest.join("/")])];
}

/**
 * An earlier locality covers a later one of the same or greater depth; a later, shorter one collides when it names the same region or zone.
 * Looked up, not compared one by one: lists come from rule objects.
 */
function createSeenLocalities() {
  /** Localities, and what they are in. */
  const named = new Set<string>();
  /** Where everything below is taken. */
  const whole = new Set<string>();
  return {
    hasAll: () => whole.has("*"),
    overlap: (parts: readonly string[]) => {
      const places = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
      return whole.has("*") || places.some((place) => whole.has(place)) || named.has(places.at(-1) ?? "");
    },
    add: (parts: readonly string[]) => {
      const places = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
      for (const place of places) named.add(place);
      whole.add(parts.at(-1) === "*" ? (places.at(-2) ?? "*") : (places.at(-1) ?? ""));
    },
  };
}
