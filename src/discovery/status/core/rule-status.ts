import { isDeepStrictEqual } from "node:util";
import type { Finding } from "./findings.ts";

interface Condition {
  readonly type?: unknown;
  readonly status?: unknown;
  readonly lastTransitionTime?: unknown;
  readonly [member: string]: unknown;
}

/** What is written to `status`; members of other writers stay as they are. */
export interface StatusPatch {
  readonly conditions: readonly Condition[];
  /** Null takes the member away. */
  readonly validationMessages: readonly object[] | null;
  readonly observedGeneration: number;
}

const OWN_TYPES: ReadonlySet<unknown> = new Set(["PassedValidation", "Reconciled"]);
/** Enough to mend it; the log and `/config` have the rest. */
const MAX_MESSAGE = 1000;

/**
 * The status that an object of this generation should have, given the one it has; undefined when it says the same already. Conditions of
 * other types are other writers' and stay; a time moves only with the status of its condition.
 */
export function nextStatus(
  current: unknown,
  {
    findings,
    generation,
    now,
  }: { readonly findings: readonly Finding[]; readonly generation: number; readonly now: Date },
): StatusPatch | undefined {
  const status = (typeof current === "object" && current !== null ? current : {}) as Readonly<Record<string, unknown>>;
  const conditions = (Array.isArray(status.conditions) ? status.conditions : []) as readonly Condition[];
  const wanted = wantedConditions(findings, generation);
  const next = wanted.map((condition) => {
    const before = conditions.find(({ type }) => type === condition.type);
    const { lastTransitionTime: time, lastProbeTime: _probed, ...rest } = before ?? {};
    const isSame = isDeepStrictEqual({ ...rest, observedGeneration: Number(rest.observedGeneration) }, condition);
    if (isSame && before !== undefined) return before;
    const unchangedTime = before?.status === condition.status && typeof time === "string" ? time : undefined;
    return { ...condition, lastTransitionTime: unchangedTime ?? now.toISOString().replace(/\.\d+Z$/, "Z") };
  });
  const messages = findings.map(({ type, level }) => ({ type, level }));
  const before = Array.isArray(status.validationMessages) ? status.validationMessages : [];
  const others = conditions.filter(({ type }) => !OWN_TYPES.has(type));
  const isSame =
    next.every((condition) => conditions.includes(condition)) &&
    isDeepStrictEqual(before, messages) &&
    Number(status.observedGeneration) === generation;
  if (isSame) return undefined;
  return {
    conditions: [...others, ...next],
    validationMessages: messages.length === 0 ? null : messages,
    observedGeneration: generation,
  };
}

function wantedConditions(findings: readonly Finding[], observedGeneration: number): readonly Condition[] {
  const invalid = findings.filter(({ reason }) => reason === "Invalid");
  const warnings = findings.filter(({ reason }) => reason === "Warning");
  const rest = findings.filter(({ reason }) => reason === "NotFollowed" || reason === "CredentialMissing");
  const validation = invalid.length > 0 ? invalid : warnings;
  return [
    {
      type: "PassedValidation",
      status: invalid.length > 0 ? "False" : "True",
      reason: validation[0]?.reason ?? "Valid",
      message: joined(validation),
      observedGeneration,
    },
    {
      type: "Reconciled",
      status: invalid.length + rest.length > 0 ? "False" : "True",
      reason: invalid[0]?.reason ?? rest[0]?.reason ?? "Reconciled",
      message: invalid.length > 0 ? "not in force in this form: what was valid before stays" : joined(rest),
      observedGeneration,
    },
  ];
}

function joined(findings: readonly Finding[]): string {
  const text = findings.map(({ message }) => message).join("; ");
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE)} ...`;
}
