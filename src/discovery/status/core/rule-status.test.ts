import { expect, test } from "vitest";
import { collectFindings, type Finding } from "./findings.ts";
import { nextStatus } from "./rule-status.ts";

const NOW = new Date("2026-08-22T20:00:00.123Z");
const LATER = new Date("2026-08-22T21:00:00Z");
const invalid: Finding = {
  reason: "Invalid",
  level: "ERROR",
  type: { code: "IST0106", name: "SchemaValidationError" },
  message: "spec.hosts: missing",
};
const missing: Finding = {
  reason: "CredentialMissing",
  level: "ERROR",
  type: { code: "IST0101", name: "ReferencedResourceNotFound" },
  message: "no Secret",
};
const valid = (lastTransitionTime: string, observedGeneration = 1) => ({
  type: "PassedValidation",
  status: "True",
  reason: "Valid",
  message: "",
  observedGeneration,
  lastTransitionTime,
});
const reconciled = (lastTransitionTime: string, observedGeneration = 1) => ({
  type: "Reconciled",
  status: "True",
  reason: "Reconciled",
  message: "",
  observedGeneration,
  lastTransitionTime,
});

test("an object without problems gets both conditions once, and nothing is written again", () => {
  const first = nextStatus(undefined, { findings: [], generation: 1, now: NOW });
  const time = "2026-08-22T20:00:00Z";
  expect(first).toEqual({
    conditions: [valid(time), reconciled(time)],
    validationMessages: null,
    observedGeneration: 1,
  });
  const stored = { conditions: first?.conditions, observedGeneration: "1" };
  expect(nextStatus(stored, { findings: [], generation: 1, now: LATER })).toBeUndefined();
});

test("a new generation is observed, and times stay with the status they are of", () => {
  const stored = { conditions: [valid("T"), reconciled("T")], observedGeneration: 1 };
  expect(nextStatus(stored, { findings: [], generation: 2, now: LATER })?.conditions).toEqual([
    valid("T", 2),
    reconciled("T", 2),
  ]);
});

test("an invalid object fails both conditions and has its messages; other writers' conditions stay", () => {
  const other = { type: "Programmed", status: "True" };
  const stored = { conditions: [other, valid("T"), reconciled("T")], observedGeneration: 1, more: 1 };
  const next = nextStatus(stored, { findings: [invalid], generation: 1, now: LATER });
  expect(next).toMatchObject({
    conditions: [
      other,
      { type: "PassedValidation", status: "False", reason: "Invalid", message: "spec.hosts: missing" },
      { type: "Reconciled", status: "False", reason: "Invalid", lastTransitionTime: "2026-08-22T21:00:00Z" },
    ],
    validationMessages: [{ type: { code: "IST0106" }, level: "ERROR" }],
  });
  expect(next).not.toHaveProperty("more");
});

test("a missing credential leaves an object valid and not reconciled", () => {
  const { conditions = [] } = nextStatus({}, { findings: [missing], generation: 3, now: NOW }) ?? {};
  expect(conditions).toMatchObject([
    { type: "PassedValidation", status: "True" },
    { type: "Reconciled", status: "False", reason: "CredentialMissing", message: "no Secret", observedGeneration: 3 },
  ]);
});

test("findings are those of documents, of lost conflicts and of credentials, each once", () => {
  const object = { kind: "VirtualService", namespace: "shop", name: "web" } as const;
  const place = { file: "kubernetes", line: 1, column: 1, object };
  const documents = [
    { ...place, severity: "error", message: "missing", field: "spec.hosts" },
    { ...place, severity: "error", message: "missing", field: "spec.hosts" },
    { ...place, severity: "warning", message: "ignored", field: "" },
  ] as const;
  const rules = [{ object, message: "another has the host" }];
  const found = collectFindings({ documents, rules, credentials: [] }).get("VirtualService/shop/web");
  expect(found?.map(({ reason, level, message }) => [reason, level, message])).toEqual([
    ["Invalid", "ERROR", "spec.hosts: missing"],
    ["Warning", "WARNING", "ignored"],
    ["NotFollowed", "WARNING", "another has the host"],
  ]);
});
