/** A series: its labels, under `name` what it counts, under `value` how many. */
export type Series = Readonly<Record<string, string>>;

/** Series of a document in Prometheus' text form whose names start so. */
export function seriesOf(text: string, prefix: string): readonly Series[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith(prefix))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(
        ([, label = "", given = ""]) => [label, given] as const,
      );
      return { ...Object.fromEntries(pairs), name, value };
    });
}
