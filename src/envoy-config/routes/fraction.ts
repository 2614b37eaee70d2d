import type { FractionalPercent } from "../../protobuf/gen/envoy/type/v3.ts";

/** A percentage with four digits behind the point, which is as fine as Envoy can count; further ones are cut off. */
export function buildFraction(percent: number): FractionalPercent {
  const numerator = Math.trunc(percent * 10_000);
  return numerator === 0 ? { denominator: "MILLION" } : { numerator, denominator: "MILLION" };
}

export function buildPercent(percent: number): FractionalPercent {
  return percent === 0 ? {} : { numerator: percent };
}
