type NumberName = "int32" | "uint32" | "uint64" | "double";

const RANGES: Readonly<Record<NumberName, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  uint64: [0, Number.MAX_SAFE_INTEGER],
  double: [-Number.MAX_VALUE, Number.MAX_VALUE],
};

/** A number or a quoted number, as proto3 JSON allows both. */
export function decodeNumber(type: NumberName, data: unknown): number | { readonly problem: string } {
  const number = typeof data === "string" && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(data) ? Number(data) : data;
  if (typeof number !== "number") return { problem: `expected a number, found ${describe(data)}` };
  const [least, most] = RANGES[type];
  // Also false for NaN and for infinities, which YAML can write.
  if (!(number >= least && number <= most))
    return { problem: `expected a number from ${least} to ${most}, found ${number}` };
  if (type !== "double" && !Number.isInteger(number)) return { problem: `expected a whole number, found ${number}` };
  return number;
}

/** Names what was found without repeating a large value. */
export function describe(data: unknown): string {
  if (data === null) return "null";
  if (Array.isArray(data)) return "a list";
  if (typeof data === "object") return "an object";
  const text = JSON.stringify(data) ?? String(data);
  return `${typeof data} ${text.length > 80 ? `${text.slice(0, 80)}...` : text}`;
}
