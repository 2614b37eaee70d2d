/** Where something runs; parts from the right may be empty. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subzone: string;
}

/** `region/zone/subzone`; what is missing is empty, what is behind the subzone belongs to it. */
export function parseLocality(text: string): Locality {
  const [region = "", zone = "", ...subzone] = text.split("/");
  return { region, zone, subzone: subzone.join("/") };
}

export function formatLocality({ region, zone, subzone }: Locality): string {
  return [region, zone, subzone].join("/").replace(/\/+$/, "");
}
