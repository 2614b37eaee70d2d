import type { Locality } from "../inputs.ts";

const LOCALITY_LABEL = "istio-locality";

/**
 * The locality by label, else the platform's. Dots stand for slashes when there is no slash; the cleaned text goes back into the labels
 * under `istio-locality`, from where the control plane reads it.
 */
export function nodeLocality(labels: Map<string, string>, names: readonly string[], platform: Locality): Locality {
  const name = names.find((candidate) => labels.has(candidate));
  const label = name === undefined ? "" : (labels.get(name) ?? "");
  if (label === "") return definedParts(platform.region, platform.zone, platform.sub_zone);
  const cleaned = label.includes("/") ? label : label.replaceAll(".", "/");
  labels.set(LOCALITY_LABEL, cleaned);
  const [region, zone, subZone] = cleaned.split("/");
  return definedParts(region, zone, subZone);
}

function definedParts(region: string | undefined, zone: string | undefined, subZone: string | undefined): Locality {
  return { ...(region && { region }), ...(zone && { zone }), ...(subZone && { sub_zone: subZone }) };
}
