/** strconv.FormatFloat for `e`, `f` and `g` (and their capitals); precision -1 is the shortest that reads back the same. */
export function formatFloat(value: number, verb: "e" | "E" | "f" | "F" | "g" | "G", precision: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const negative = value < 0 || Object.is(value, -0);
  const text = formatPositive(Math.abs(value), verb.toLowerCase(), precision);
  return `${negative ? "-" : ""}${verb === "E" || verb === "G" ? text.toUpperCase() : text}`;
}

function formatPositive(value: number, verb: string, precision: number): string {
  if (verb === "f") return precision < 0 ? plain(value) : fixed(value, Math.min(precision, 100));
  if (verb === "e") return exponential(value.toExponential(precision < 0 ? undefined : Math.min(precision, 100)));
  return general(value, precision);
}

/** Go rounds a value exactly between two to the even one, JavaScript to the larger. */
function fixed(value: number, precision: number): string {
  if (value >= 1e21) return fixedLarge(value, precision);
  const rounded = value.toFixed(precision);
  if (precision + TIE_DIGITS > 100) return rounded;
  const exact = value.toFixed(precision + TIE_DIGITS);
  const isTie = exact.endsWith(`5${"0".repeat(TIE_DIGITS - 1)}`);
  if (!isTie || Number(rounded.at(-1)) % 2 === 0) return rounded;
  const truncated = exact.slice(0, exact.length - TIE_DIGITS);
  return truncated.endsWith(".") ? truncated.slice(0, -1) : truncated;
}

/** Enough digits to distinguish an exact half from a number close to it. */
const TIE_DIGITS = 25;

/** `%e` for exponents below -4 or from the precision on (6 when shortest), `%f` otherwise, no trailing zeros. */
function general(value: number, precision: number): string {
  if (value === 0) return "0";
  const digits = precision === 0 ? 1 : precision;
  const scientific = digits < 0 ? value.toExponential() : value.toExponential(Math.min(digits, 101) - 1);
  const [mantissa = "", exponentText = "0"] = scientific.split("e");
  const exponent = Number(exponentText);
  const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  const significant = trimmed.replace(".", "");
  // The shortest form decides as if it had six digits.
  const limit = digits < 0 ? 6 : digits;
  if (exponent < -4 || exponent >= limit) return exponential(`${trimmed}e${exponent}`);
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${significant}`;
  if (significant.length <= exponent + 1) return significant.padEnd(exponent + 1, "0");
  return `${significant.slice(0, exponent + 1)}.${significant.slice(exponent + 1)}`;
}

function exponential(text: string): string {
  const [mantissa = "", exponent = "0"] = text.split("e");
  const size = String(Math.abs(Number(exponent))).padStart(2, "0");
  return `${mantissa}e${Number(exponent) < 0 ? "-" : "+"}${size}`;
}

function plain(value: number): string {
  if (value >= 1e21) return fixedLarge(value, 0);
  const text = String(value);
  if (!text.includes("e")) return text;
  const [mantissa = "", exponent = "0"] = text.split("e");
  return `0.${"0".repeat(-Number(exponent) - 1)}${mantissa.replace(".", "")}`;
}

function fixedLarge(value: number, precision: number): string {
  const whole = BigInt(value).toString();
  return precision > 0 ? `${whole}.${"0".repeat(precision)}` : whole;
}
