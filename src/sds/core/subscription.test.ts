import fc from "fast-check";
import { expect, test } from "vitest";
import { NEW_SUBSCRIPTION, requestOutcome, type Subscription, type SubscriptionRequest } from "./subscription.ts";

const SECRET = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
const CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const request = (given: Partial<SubscriptionRequest>): SubscriptionRequest => ({
  resourceNames: [],
  typeUrl: SECRET,
  responseNonce: "",
  isNack: false,
  ...given,
});
const watching = (...names: string[]): Subscription => ({ watched: new Set(names), nonce: "n1" });

test.each<{ rule: string; from: Subscription; request: Partial<SubscriptionRequest>; is: unknown }>([
  {
    rule: "the first request is answered",
    from: NEW_SUBSCRIPTION,
    request: { resourceNames: ["a"] },
    is: { action: "reply", names: ["a"], watched: new Set(["a"]) },
  },
  {
    rule: "a rejection as the first message is silence",
    from: NEW_SUBSCRIPTION,
    request: { resourceNames: ["a"], isNack: true },
    is: { action: "rejected" },
  },
  {
    rule: "a rejection with a stale nonce is silence",
    from: watching("a"),
    request: { resourceNames: ["b"], responseNonce: "old", isNack: true },
    is: { action: "rejected" },
  },
  {
    rule: "a reconnect with a nonce of a former stream is answered",
    from: NEW_SUBSCRIPTION,
    request: { resourceNames: ["a"], responseNonce: "old" },
    is: { action: "reply", names: ["a"], watched: new Set(["a"]) },
  },
  {
    rule: "the same name without a nonce is answered again",
    from: watching("a"),
    request: { resourceNames: ["a"] },
    is: { action: "reply", names: ["a"], watched: new Set(["a"]) },
  },
  {
    rule: "a name listed twice is answered twice",
    from: NEW_SUBSCRIPTION,
    request: { resourceNames: ["a", "a"] },
    is: { action: "reply", names: ["a", "a"], watched: new Set(["a"]) },
  },
  {
    rule: "the last nonce with the same names is an acknowledgement",
    from: watching("a"),
    request: { resourceNames: ["a"], responseNonce: "n1" },
    is: { action: "acknowledged", watched: new Set(["a"]) },
  },
  {
    rule: "a removal alone is an acknowledgement",
    from: watching("a", "b"),
    request: { resourceNames: ["a"], responseNonce: "n1" },
    is: { action: "acknowledged", watched: new Set(["a"]) },
  },
  {
    rule: "an addition is answered with the added name only",
    from: watching("a"),
    request: { resourceNames: ["a", "b"], responseNonce: "n1" },
    is: { action: "reply", names: ["b"], watched: new Set(["a", "b"]) },
  },
  {
    rule: "a stale nonce changes nothing",
    from: watching("a"),
    request: { resourceNames: ["b"], responseNonce: "old" },
    is: { action: "stale" },
  },
  {
    rule: "no names of the Secret type unsubscribe",
    from: watching("a"),
    request: { responseNonce: "n1" },
    is: { action: "unsubscribed" },
  },
  {
    rule: "no names of another type get an empty answer",
    from: watching("a"),
    request: { typeUrl: CLUSTER },
    is: { action: "reply", names: [], watched: new Set() },
  },
  {
    rule: "no names and no type get an empty answer",
    from: NEW_SUBSCRIPTION,
    request: { typeUrl: "" },
    is: { action: "reply", names: [], watched: new Set() },
  },
  {
    rule: "another type with names gets secrets",
    from: NEW_SUBSCRIPTION,
    request: { typeUrl: CLUSTER, resourceNames: ["a"] },
    is: { action: "reply", names: ["a"], watched: new Set(["a"]) },
  },
  {
    rule: "after an unsubscribe any nonce is answered in full",
    from: { watched: undefined, nonce: "n1" },
    request: { resourceNames: ["a", "b"], responseNonce: "n1" },
    is: { action: "reply", names: ["a", "b"], watched: new Set(["a", "b"]) },
  },
  {
    rule: "a name removed and added again under the same nonce is answered",
    from: watching(),
    request: { resourceNames: ["a"], responseNonce: "n1" },
    is: { action: "reply", names: ["a"], watched: new Set(["a"]) },
  },
])("$rule", ({ from, request: given, is }) => {
  expect(requestOutcome(from, request(given))).toEqual(is);
});

test("a reply never names what was not asked for", () => {
  const names = fc.array(fc.constantFrom<string>("a", "b", "c"));
  fc.assert(
    fc.property(
      names,
      names,
      fc.constantFrom("", "n1", "old"),
      fc.boolean(),
      (watched, resourceNames, responseNonce, isNack) => {
        const outcome = requestOutcome(watching(...watched), request({ resourceNames, responseNonce, isNack }));
        if (outcome.action !== "reply") return;
        expect(outcome.names.every((name) => resourceNames.includes(name))).toBe(true);
        expect(outcome.watched).toEqual(new Set(resourceNames));
      },
    ),
  );
});
