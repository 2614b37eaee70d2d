type Labels = Readonly<Record<string, string>>;

/** An empty selector selects everything. */
export function selects(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}
