import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HEALTH_TYPE } from "../../../xds/type-urls.ts";
import { isLocal } from "../admission.ts";
import { checkIdentity, firstRequest, fullRate, takeStream } from "./stream-start.ts";

describe("who may have a node's configuration", () => {
  const web = "spiffe://cluster.local/ns/shop/sa/web";
  test.each([
    { identities: [web], node: { namespace: "shop", serviceAccount: "web" }, verified: web },
    { identities: [web], node: { namespace: "shop", serviceAccount: "" }, verified: web },
    { identities: ["web.shop", web], node: { namespace: "shop", serviceAccount: "web" }, verified: web },
    { identities: [web], node: { namespace: "bank", serviceAccount: "web" }, verified: undefined },
    { identities: [web], node: { namespace: "shop", serviceAccount: "admin" }, verified: undefined },
    { identities: ["shop/web"], node: { namespace: "shop", serviceAccount: "" }, verified: undefined },
  ])("$identities as $node gives $verified", ({ identities, node, verified }) => {
    const checked = checkIdentity(identities, node);
    if (verified !== undefined) expect(checked).toEqual({ verified });
    else
      expect(checked).toEqual({
        refusal: `authorization failed: no identities ([${identities.join(" ")}]) matched ${node.namespace}/${node.serviceAccount}`,
      });
  });
});

describe("the first request", () => {
  test.each([
    { request: { typeUrl: HEALTH_TYPE, node: { id: "x" } }, step: "skip" },
    { request: { typeUrl: "t", node: undefined }, step: "refuse" },
    { request: { typeUrl: "t", node: {} }, step: "refuse" },
    { request: { typeUrl: "t", node: { id: "x" } }, step: "begin" },
  ])("$request leads to $step", ({ request, step }) => {
    expect(firstRequest(request).step).toBe(step);
  });
});

describe("new streams per second", () => {
  const limits = { perSecond: 10, burst: 10, maxWaitMs: 1000 };

  test("a burst gets in at once, the next ones wait, who would wait longer than a second is refused", () => {
    let rate = fullRate(limits, 0);
    const waits = Array.from({ length: 22 }, () => {
      const taken = takeStream(rate, limits, 0);
      rate = taken.rate;
      return taken.waitMs;
    });
    expect(waits.slice(0, 10)).toEqual(Array(10).fill(0));
    expect(waits[10]).toBe(100);
    expect(waits[19]).toBe(1000);
    expect(waits.slice(20)).toEqual([undefined, undefined]);
    expect(takeStream(rate, limits, 1000).waitMs).toBe(100);
  });

  test("never more get in than the rate allows", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: 200 }), (steps) => {
        let rate = fullRate(limits, 0);
        let now = 0;
        const starts: number[] = [];
        for (const step of steps) {
          now += step;
          const taken = takeStream(rate, limits, now);
          rate = taken.rate;
          if (taken.waitMs !== undefined) starts.push(now + taken.waitMs);
        }
        const last = Math.max(...starts);
        expect(starts.length).toBeLessThanOrEqual(limits.burst + (last * limits.perSecond) / 1000 + 1e-6);
      }),
    );
  });
});

test.each([
  { address: "127.0.0.1:4000", local: true },
  { address: "127.8.0.1:4000", local: true },
  { address: "[::1]:4000", local: true },
  { address: "[::ffff:127.0.0.1]:4000", local: true },
  { address: "unix", local: true },
  { address: "10.0.0.1:4000", local: false },
  { address: "[fd00::1]:4000", local: false },
  { address: "[::ffff:10.0.0.1]:4000", local: false },
  { address: "", local: false },
])("a peer at $address is on this machine: $local", ({ address, local }) => {
  expect(isLocal(address)).toBe(local);
});
