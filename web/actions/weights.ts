export type Weights = Readonly<Record<string, number>>;

/** Gives one version its share and leaves the others in their proportion. Whole numbers that make 100 together. */
export function rebalance(weights: Weights, version: string, wanted: number): Weights {
  const share = Math.max(0, Math.min(100, Math.round(wanted)));
  const others = Object.keys(weights).filter((name) => name !== version);
  const before = others.reduce((sum, name) => sum + (weights[name] ?? 0), 0);
  const left = 100 - share;
  const exact = others.map((name) => (before === 0 ? left / others.length : ((weights[name] ?? 0) * left) / before));
  const whole = exact.map(Math.floor);
  // What rounding down left over goes to those that lost most by it.
  const order = exact.map((value, index) => ({ index, lost: value - Math.floor(value) }));
  order.sort((a, b) => b.lost - a.lost || a.index - b.index);
  const rest = left - whole.reduce((sum, value) => sum + value, 0);
  for (const { index } of order.slice(0, rest)) whole[index] = (whole[index] ?? 0) + 1;
  const result: Record<string, number> = {};
  for (const name of Object.keys(weights)) result[name] = name === version ? share : (whole[others.indexOf(name)] ?? 0);
  return result;
}

/** What rules say, else what was measured, else all to the first; makes 100. */
export function presentWeights(
  rows: readonly { readonly label: string; readonly weight: number | undefined; readonly share: number }[],
): Weights {
  const ruled = rows.some((row) => row.weight !== undefined);
  const measured = rows.some((row) => row.share > 0);
  const value = (row: (typeof rows)[number], index: number) =>
    ruled ? (row.weight ?? 0) : measured ? row.share * 100 : index === 0 ? 100 : 0;
  const weights = Object.fromEntries(rows.map((row, index) => [row.label, value(row, index)]));
  const [largest = ""] = Object.keys(weights).sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
  const rest = Object.entries(weights).reduce(
    (sum, [name, weight]) => (name === largest ? sum : sum + Math.round(weight)),
    0,
  );
  for (const name of Object.keys(weights)) weights[name] = Math.round(weights[name] ?? 0);
  return { ...weights, ...(largest === "" ? {} : { [largest]: 100 - rest }) };
}
