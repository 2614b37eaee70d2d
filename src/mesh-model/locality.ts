/** Where something runs; parts from the right may be empty. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subzone: string;
}

/** `region/zone/subzone`; what is missing is empty, what is behind the subzone does not count. */
export function parseLocality(text: string): Locality {
  const [region = "", zone = "", subzone = ""] = text.split("/");
  return { region, zone, subzone };
}

/** What labels say of a place as a whole. A label value cannot hold a slash; dots stand for them when there is none. */
export function labelledLocality(labels: Readonly<Record<string, string>>): string {
  const text = labels["topology.istio.io/locality"] ?? labels["istio-locality"] ?? "";
  return text.includes("/") ? text : text.replaceAll(".", "/");
}

/** Labels that stand for the parts of a place, for a network and for a cluster. */
export const TOPOLOGY = {
  region: "topology.kubernetes.io/region",
  zone: "topology.kubernetes.io/zone",
  subzone: "topology.istio.io/subzone",
  network: "topology.istio.io/network",
  cluster: "topology.istio.io/cluster",
} as const;

export function formatLocality({ region, zone, subzone }: Locality): string {
  return [region, zone, subzone].join("/").replace(/\/+$/, "");
}
