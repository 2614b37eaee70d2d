/** What was left out of a merged document, and how much: whole families, single series, or lines that are no metrics. */
export type Drop = (what: "family" | "series" | "line", count: number) => void;
