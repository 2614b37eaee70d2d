const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Finest unit first; the number may have at most eight digits. */
const UNITS_TO_SEND = ["m", "S", "M", "H"] as const;
const MAX_NUMBER = 99_999_999;

/** The `grpc-timeout` header to milliseconds (with fractions), or undefined when it is malformed. */
export function parseTimeout(header: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  const factor = UNIT_MS[unit ?? ""];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}

/** Rounds up, so that the peer does not give up before we do. */
export function formatTimeout(milliseconds: number): string {
  for (const unit of UNITS_TO_SEND) {
    const count = Math.max(0, Math.ceil(milliseconds / (UNIT_MS[unit] ?? 1)));
    if (count <= MAX_NUMBER) return `${count}${unit}`;
  }
  return `${MAX_NUMBER}H`;
}
