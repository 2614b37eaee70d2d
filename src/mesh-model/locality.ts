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

/** What labels say of a locality as a whole. A label value cannot hold a slash; dots stand for them when there is none. */
export function labelledLocality(labels: Readonly<Record<string, string>>): string {
  const text = labels["topology.istio.io/locality"] ?? labels["istio-locality"] ?? "";
  return text.includes("/") ? text : text.replaceAll(".", "/");
}

export function formatLocality({ region, zone, subzone }: Locality): string {
  return [region, zone, subzone].join("/").replace(/\/+$/, "");
}
