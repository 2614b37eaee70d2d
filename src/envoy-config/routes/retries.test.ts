import { describe, expect, test } from "vitest";
import { buildRetryPolicy, DEFAULT_RETRY_POLICY } from "./retries.ts";

const NONE = { attempts: 3, retryOn: "" };

describe("buildRetryPolicy", () => {
  test("nothing said: two retries where the request cannot have had an effect, on other hosts", () => {
    expect(buildRetryPolicy(undefined, false)).toBe(DEFAULT_RETRY_POLICY);
    expect(DEFAULT_RETRY_POLICY).toMatchObject({ numRetries: 2, hostSelectionRetryMaxAttempts: "5" });
  });

  test.each([0, -1])("%d attempts: none", (attempts) => {
    expect(buildRetryPolicy({ ...NONE, attempts }, false)).toBeUndefined();
  });

  test.each([
    ["5xx,reset", { retryOn: "5xx,reset" }],
    ["503", { retryOn: "retriable-status-codes", retriableStatusCodes: [503] }],
    ["5xx, 503 ,429", { retryOn: "5xx,retriable-status-codes", retriableStatusCodes: [503, 429] }],
    ["retriable-status-codes,500", { retryOn: "retriable-status-codes", retriableStatusCodes: [500] }],
    ["", { retryOn: DEFAULT_RETRY_POLICY.retryOn }],
    [",", { retryOn: DEFAULT_RETRY_POLICY.retryOn }],
  ])("on %j", (retryOn, expected) => {
    const { retriableStatusCodes, ...policy } = buildRetryPolicy({ ...NONE, retryOn }, false) ?? {};
    expect({ retryOn: policy.retryOn, ...(retriableStatusCodes && { retriableStatusCodes }) }).toEqual(expected);
    expect(policy.numRetries).toBe(3);
  });

  test.each([
    { said: undefined, isHashed: false, others: true },
    { said: undefined, isHashed: true, others: false },
    { said: true, isHashed: true, others: true },
    { said: false, isHashed: false, others: false },
  ])(
    "other hosts only: $others when the rule says $said and a hash decides: $isHashed",
    ({ said, isHashed, others }) => {
      const retries = { ...NONE, ...(said !== undefined && { retryIgnorePreviousHosts: said }) };
      expect(buildRetryPolicy(retries, isHashed)?.retryHostPredicate !== undefined).toBe(others);
    },
  );

  test("time limits of zero are none", () => {
    const policy = buildRetryPolicy({ ...NONE, perTryTimeout: "0s", backoff: "0s" }, false);
    expect(policy).not.toHaveProperty("perTryTimeout");
    expect(policy).not.toHaveProperty("retryBackOff");
  });

  test("time limits, pauses and other localities", () => {
    const said = { perTryTimeout: "2s", backoff: "0.050s", retryRemoteLocalities: true } as const;
    expect(buildRetryPolicy({ ...NONE, ...said }, false)).toMatchObject({
      perTryTimeout: "2s",
      retryBackOff: { baseInterval: "0.050s" },
      retryPriority: { name: "envoy.retry_priorities.previous_priorities" },
    });
  });
});
