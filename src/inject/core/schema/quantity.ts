const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const QUANTITY = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;
/** Less than a thousand of a unit: as it should be already, and by far the most usual. */
const CANONICAL = /^[1-9]\d{0,2}(?:[numkMGTPE]|[KMGTPE]i)?$/;
/** The finest unit of a quantity is a nano. */
const NANO_DIGITS = 9;

/**
 * A resource quantity in the form the API server prints: decimal values with the largest suffix that leaves an integer, binary ones
 * likewise with Ki to Ei. Undefined for text that is not a quantity.
 */
export function canonicalQuantity(text: string): string | undefined {
  if (CANONICAL.test(text)) return text;
  const match = QUANTITY.exec(text);
  if (match === null) return undefined;
  const [, sign = "", digits = "", exponent, suffix = ""] = match;
  const [whole = "", fraction = ""] = digits.split(".");
  const mantissa = BigInt(whole + fraction);
  if (mantissa === 0n) return "0";
  const minus = sign === "-" ? "-" : "";
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) {
    const nanos = scaled(mantissa * 1024n ** BigInt(binary), NANO_DIGITS - fraction.length);
    // Below one kibi there is no binary suffix to print.
    if (nanos < 1024n * 10n ** 9n) return minus + decimalText(nanos);
    return minus + binaryText(scaled(nanos, -NANO_DIGITS));
  }
  if (exponent !== undefined) {
    const power = Number(exponent.slice(1));
    if (Math.abs(power) > 30) return undefined;
    return minus + exponentText(scaled(mantissa, NANO_DIGITS - fraction.length + power));
  }
  const power = (DECIMAL_SUFFIXES.indexOf(suffix) - 3) * 3;
  return minus + decimalText(scaled(mantissa, NANO_DIGITS - fraction.length + power));
}

/** Times a power of ten, rounded up: a request is never made smaller. */
function scaled(value: bigint, power: number): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (value + divisor - 1n) / divisor;
}

function decimalText(nanos: bigint): string {
  const [value, step] = withoutFactor(nanos, 1000n, DECIMAL_SUFFIXES.length - 1);
  return `${value}${DECIMAL_SUFFIXES[step]}`;
}

function exponentText(nanos: bigint): string {
  const [value, step] = withoutFactor(nanos, 1000n, 9);
  const power = (step - 3) * 3;
  return power === 0 ? String(value) : `${value}e${power}`;
}

function binaryText(units: bigint): string {
  const [value, step] = withoutFactor(units, 1024n, BINARY_SUFFIXES.length - 1);
  return `${value}${BINARY_SUFFIXES[step]}`;
}

function withoutFactor(value: bigint, factor: bigint, maxSteps: number): readonly [bigint, number] {
  let [rest, steps] = [value, 0];
  while (steps < maxSteps && rest % factor === 0n) {
    rest /= factor;
    steps += 1;
  }
  return [rest, steps];
}
