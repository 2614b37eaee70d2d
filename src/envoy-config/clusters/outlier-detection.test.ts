import { expect, test } from "vitest";
import { policyOf } from "../../../test/support/discovery/policy.ts";
import { outlierDetection } from "./outlier-detection.ts";

test.each([
  { settings: "{}", gives: {} },
  { settings: "{consecutive5xxErrors: 7}", gives: { consecutive5xx: 7, enforcingConsecutive5xx: 100 } },
  { settings: "{consecutive5xxErrors: 0}", gives: { consecutive5xx: 0, enforcingConsecutive5xx: 0 } },
  {
    settings: "{consecutiveGatewayErrors: 4}",
    gives: { consecutiveGatewayFailure: 4, enforcingConsecutiveGatewayFailure: 100 },
  },
  {
    settings: "{consecutiveGatewayErrors: 0}",
    gives: { consecutiveGatewayFailure: 0, enforcingConsecutiveGatewayFailure: 0 },
  },
  { settings: "{interval: 1500ms}", gives: { interval: "1.500s" } },
  { settings: "{baseEjectionTime: 3m}", gives: { baseEjectionTime: "180s" } },
  { settings: "{maxEjectionPercent: 50}", gives: { maxEjectionPercent: 50 } },
  { settings: "{maxEjectionPercent: 0}", gives: {} },
  { settings: "{minHealthPercent: 30}", gives: {} },
  {
    settings: "{splitExternalLocalOriginErrors: true}",
    gives: { splitExternalLocalOriginErrors: true, enforcingLocalOriginSuccessRate: 0 },
  },
  {
    settings: "{splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 9}",
    gives: {
      splitExternalLocalOriginErrors: true,
      consecutiveLocalOriginFailure: 9,
      enforcingConsecutiveLocalOriginFailure: 100,
      enforcingLocalOriginSuccessRate: 0,
    },
  },
])("$settings becomes $gives, and success rates are never judged", ({ settings, gives }) => {
  const given = policyOf(`{outlierDetection: ${settings}}`).outlierDetection;
  expect(given && outlierDetection(given)).toEqual({ ...gives, enforcingSuccessRate: 0 });
});
