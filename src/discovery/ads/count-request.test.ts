import { expect, test } from "vitest";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { NO_NAMES } from "../../xds/name-list.ts";
import { createSubscription, type Decision, type Subscription } from "../../xds/subscription.ts";
import { countRequest } from "./connection.ts";
import { declareAdsMetrics } from "./metrics.ts";

const GOOD = createSubscription(true, NO_NAMES);
const refused = (code: number, message: string): Subscription => ({ ...GOOD, error: { code, message } });

function setUp() {
  const registry = new MetricRegistry();
  const metrics = declareAdsMetrics(registry);
  return {
    count: (
      event: Decision["event"],
      before: Subscription | undefined,
      after: Subscription | undefined,
      metric = "cds",
    ) => countRequest(metrics, "web-1", { metric, event, before, after }),
    series: (name: string) =>
      registry
        .render()
        .split("\n")
        .filter((line) => line.startsWith(name)),
  };
}

test.each<{ event: Decision["event"]; metric: string }>([
  { event: "stale", metric: "pilot_xds_expired_nonce" },
  { event: "nacked", metric: "pilot_total_xds_rejects" },
])("a $event request counts in $metric by type", ({ event, metric }) => {
  const { count, series } = setUp();
  count(event, GOOD, GOOD);
  count(event, GOOD, GOOD);
  count(event, GOOD, GOOD, "lds");
  expect(series(metric)).toEqual([`${metric}{type="cds"} 2`, `${metric}{type="lds"} 1`]);
});

test.each<Decision["event"]>(["subscribed", "changed", "acked", "unsubscribed"])("%s counts as neither", (event) => {
  const { count, series } = setUp();
  count(event, GOOD, GOOD);
  expect([...series("pilot_xds_expired_nonce"), ...series("pilot_total_xds_rejects")]).toEqual([]);
});

test("a refusal stands, by its code alone, until the proxy takes an answer", () => {
  const { count, series } = setUp();
  count("nacked", GOOD, refused(3, "listener 0.0.0.0_80: bad"));
  const shown = series("pilot_xds_cds_reject");
  expect(shown).toEqual([expect.stringMatching(/node="web-1".* 1$/)]);
  expect(shown[0]).not.toContain("listener");
  count("acked", refused(3, "listener 0.0.0.0_80: bad"), GOOD);
  expect(series("pilot_xds_cds_reject")).toEqual([]);
});

test("a second refusal takes the place of the first", () => {
  const { count, series } = setUp();
  count("nacked", GOOD, refused(3, "bad"));
  const [first] = series("pilot_xds_cds_reject");
  count("nacked", refused(3, "bad"), refused(13, "worse"));
  expect(series("pilot_xds_cds_reject")).toEqual([expect.not.stringContaining(first ?? "")]);
});

test("a proxy that goes takes its refusal along", () => {
  const { count, series } = setUp();
  count("nacked", GOOD, refused(13, "bad"), "eds");
  count("unsubscribed", refused(13, "bad"), undefined, "eds");
  expect(series("pilot_xds_eds_reject")).toEqual([]);
});

test("the refusal of a proxy's new stream stands when its old stream ends", () => {
  const { count, series } = setUp();
  const old = refused(13, "bad");
  count("nacked", GOOD, old);
  const shown = series("pilot_xds_cds_reject");
  const young = refused(13, "bad");
  count("subscribed", undefined, young);
  count("acked", young, young);
  count("unsubscribed", old, undefined);
  expect(series("pilot_xds_cds_reject")).toEqual(shown);
  count("acked", young, GOOD);
  expect(series("pilot_xds_cds_reject")).toEqual([]);
});

test("refusals of types without a series of their own are counted only", () => {
  const { count, series } = setUp();
  count("nacked", GOOD, refused(13, "bad"), "nds");
  expect(series("pilot_total_xds_rejects")).toEqual(['pilot_total_xds_rejects{type="nds"} 1']);
});
