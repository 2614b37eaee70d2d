import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import { circuitBreakers } from "./connection-pool.ts";

const NONE = {
  maxConnections: 4294967295,
  maxPendingRequests: 4294967295,
  maxRequests: 4294967295,
  maxRetries: 4294967295,
};

test.each([
  { policy: "{loadBalancer: {simple: RANDOM}}", gives: {} },
  { policy: "{connectionPool: {tcp: {maxConnections: 1}}}", gives: { maxConnections: 1 } },
  { policy: "{connectionPool: {http: {http1MaxPendingRequests: 2}}}", gives: { maxPendingRequests: 2 } },
  { policy: "{connectionPool: {http: {http2MaxRequests: 3}}}", gives: { maxRequests: 3 } },
  { policy: "{connectionPool: {http: {maxRetries: 4}}}", gives: { maxRetries: 4 } },
  { policy: "{connectionPool: {tcp: {maxConnections: 0}, http: {maxRetries: 0}}}", gives: {} },
  {
    policy: "{retryBudget: {percent: 25, minRetryConcurrency: 7}}",
    gives: { retryBudget: { budgetPercent: { value: 25 }, minRetryConcurrency: 7 } },
  },
  {
    policy: "{retryBudget: {budgetInterval: 10s}}",
    gives: { retryBudget: { budgetPercent: { value: 20 }, budgetInterval: "10s", minRetryConcurrency: 3 } },
  },
  { policy: "{retryBudget: {}}", gives: { retryBudget: { budgetPercent: { value: 20 }, minRetryConcurrency: 3 } } },
  {
    policy: "{retryBudget: {percent: 0}}",
    gives: { retryBudget: { budgetPercent: { value: 0 }, minRetryConcurrency: 3 } },
  },
])("$policy limits $gives and nothing else", ({ policy, gives }) => {
  const { connectionPool, retryBudget } = policyOf(policy);
  expect(circuitBreakers(connectionPool, retryBudget)).toEqual({ thresholds: [{ ...NONE, ...gives }] });
});

test("clusters without a limit share one value", () => {
  expect(circuitBreakers(undefined)).toBe(circuitBreakers(undefined));
});
