import { expect, test } from "vitest";
import { decideInjection } from "./decide.ts";
import { INJECTION_RULES } from "./rules.ts";

const ENABLED = { policy: "enabled", neverInjectSelector: [], alwaysInjectSelector: [] };
const NAME = "sidecar.istio.io/inject";

test.each([
  { pod: { spec: { hostNetwork: true } }, inject: false, reason: "spec.hostNetwork is true" },
  { pod: { metadata: { labels: { [NAME]: "false" } } }, inject: false, reason: `label ${NAME} is false` },
  {
    pod: { metadata: { labels: { [NAME]: "true" }, annotations: { [NAME]: "false" } } },
    inject: true,
    reason: `label ${NAME} is true, the annotation says false`,
  },
  { pod: { metadata: { annotations: { [NAME]: "false" } } }, inject: false, reason: `annotation ${NAME} is false` },
  { pod: {}, inject: true, reason: "policy is enabled and neither label, annotation nor selector says otherwise" },
])("the decision about $pod says: $reason", ({ pod, inject, reason }) => {
  const decision = decideInjection(pod, "default", ENABLED, INJECTION_RULES.current);
  expect(decision.inject).toBe(inject);
  expect(decision.reason).toContain(reason);
});

test("a selector that matches is named with its index and content", () => {
  const neverInjectSelector = [{ matchLabels: { a: "b" } }, { matchExpressions: [{ key: "app", operator: "Exists" }] }];
  const pod = { metadata: { labels: { app: "web" } } };
  const { inject, by, reason } = decideInjection(
    pod,
    "ns",
    { ...ENABLED, neverInjectSelector },
    INJECTION_RULES.current,
  );
  expect({ inject, by }).toEqual({ inject: false, by: "never-selector" });
  expect(reason).toContain('neverInjectSelector[1] {"matchExpressions":[{"key":"app","operator":"Exists"}]}');
});

test("a value that is neither true nor false is reported and has no effect", () => {
  const pod = { metadata: { labels: { [NAME]: "yes" } } };
  const { inject, by, warnings } = decideInjection(pod, "ns", ENABLED, INJECTION_RULES.current);
  expect({ inject, by }).toEqual({ inject: true, by: "policy" });
  expect(warnings[0]).toContain("Only 'true' and 'false' are accepted");
});

test("a selector with an unknown operator is reported and not used", () => {
  const alwaysInjectSelector = [{ matchExpressions: [{ key: "app", operator: "Like" }] }];
  const policy = { policy: "disabled", neverInjectSelector: [], alwaysInjectSelector };
  const { inject, warnings } = decideInjection({}, "ns", policy, INJECTION_RULES.current);
  expect(inject).toBe(false);
  expect(warnings[0]).toContain('operator is "Like", allowed are In, NotIn, Exists, DoesNotExist');
});

test("1.20 takes yes and on in any case, and all other text for no", () => {
  const decide = (value: string) =>
    decideInjection({ metadata: { labels: { [NAME]: value } } }, "ns", ENABLED, INJECTION_RULES["1.20"]).inject;
  expect(["Yes", "ON", "y", "TRUE", "false", "maybe"].map(decide)).toEqual([true, true, true, true, false, false]);
});
