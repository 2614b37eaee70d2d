import { expect, test } from "vitest";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import type { Action } from "../api.ts";
import type { ActionContext } from "./action-target.ts";
import { planAction } from "./plan-action.ts";

const host = (name: string) => `${name}.shop.svc.cluster.local`;
const CONTEXT: ActionContext = {
  namespace: "shop",
  objects: [],
  services: ["web", "reviews"].map((name) => ({
    name,
    namespace: "shop",
    host: host(name),
    protocol: "http",
    ports: [80],
    entry: false,
    external: false,
  })),
  workloads: [
    { id: "web", service: "web", namespace: "shop", labels: { app: "web" }, identity: "spiffe://td/ns/shop/sa/web" },
    ...["v1", "v2"].map((version) => ({
      id: `reviews-${version}`,
      service: "reviews",
      namespace: "shop",
      version,
      labels: { app: "reviews", version },
      identity: "spiffe://td/ns/shop/sa/reviews",
    })),
  ],
};

const ON = { service: "reviews" } as const;
const ACTIONS: readonly { readonly action: Action; readonly writes: object }[] = [
  {
    action: { kind: "shift", ...ON, weights: { v1: 80, v2: 20 } },
    writes: { http: [{ route: [{ weight: 80 }, { weight: 20 }] }] },
  },
  { action: { kind: "ramp", ...ON, to: "v2" }, writes: { http: [{ route: [{ weight: 90 }, { weight: 10 }] }] } },
  {
    action: { kind: "canary", ...ON, version: "v2", header: "end-user", value: "jo" },
    writes: { http: [{ match: [{ headers: { "end-user": { exact: "jo" } } }] }, {}] },
  },
  {
    action: { kind: "delay", ...ON, delayMs: 250, percent: 10 },
    writes: { http: [{ fault: { delay: { fixedDelay: "250ms" } } }] },
  },
  {
    action: { kind: "abort", ...ON, status: 503, percent: 50 },
    writes: { http: [{ fault: { abort: { httpStatus: 503 } } }] },
  },
  { action: { kind: "timeout", ...ON, timeoutMs: 1500 }, writes: { http: [{ timeout: "1.5s" }] } },
  {
    action: { kind: "retries", ...ON, attempts: 3, perTryTimeoutMs: 500, on: "5xx" },
    writes: { http: [{ retries: { attempts: 3, perTryTimeout: "500ms", retryOn: "5xx" } }] },
  },
  {
    action: { kind: "circuit-breaker", ...ON, maxPendingRequests: 1, consecutiveErrors: 5 },
    writes: { trafficPolicy: { outlierDetection: { consecutive5xxErrors: 5 } } },
  },
  {
    action: { kind: "strict-mtls", ...ON },
    writes: { selector: { matchLabels: { app: "reviews" } }, mtls: { mode: "STRICT" } },
  },
  { action: { kind: "strict-mtls" }, writes: { mtls: { mode: "STRICT" } } },
  {
    action: { kind: "deny", ...ON, caller: "web" },
    writes: { action: "DENY", rules: [{ from: [{ source: { principals: ["td/ns/shop/sa/web"] } }] }] },
  },
];

test.each(ACTIONS)("$action.kind writes objects that the control plane takes", ({ action, writes }) => {
  const { documents, text } = planAction(action, CONTEXT);
  expect(documents.at(-1)?.spec).toMatchObject(writes);
  expect(text).not.toBe("");
  for (const document of documents) expect(parseConfigText(JSON.stringify(document)).problems).toEqual([]);
});

test("a rule that is there is changed, and keeps what the action is not about", () => {
  const spec = {
    hosts: ["reviews"],
    http: [
      { match: [{ uri: { prefix: "/old" } }], route: [{ destination: { host: "web" } }] },
      { timeout: "9s", route: [{ destination: { host: "reviews" } }] },
    ],
  };
  const document = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "mine", namespace: "shop" },
    spec,
  };
  const objects = [{ kind: "VirtualService", namespace: "shop", name: "mine", spec, document }];
  const { documents } = planAction({ kind: "shift", ...ON, weights: { v2: 100 } }, { ...CONTEXT, objects });
  expect(documents[1]).toMatchObject({
    metadata: { name: "mine" },
    spec: { http: [spec.http[0], { timeout: "9s", route: [{ weight: 100, destination: { subset: "v2" } }] }] },
  });
  expect(spec.http[1]?.route).toEqual([{ destination: { host: "reviews" } }]);
});

test("a shift changes shares alone: host as it is spelled, port and headers of a destination stay", () => {
  const destination = (subset: string) => ({ host: "reviews", subset, port: { number: 80 } });
  const headers = { request: { set: { "x-version": "1" } } };
  const spec = {
    hosts: ["reviews"],
    http: [
      {
        route: [
          { destination: destination("v1"), weight: 90, headers },
          { destination: { host: "web" }, weight: 10 },
        ],
      },
    ],
  };
  const document = { kind: "VirtualService", metadata: { name: "mine", namespace: "shop" }, spec };
  const objects = [{ kind: "VirtualService", namespace: "shop", name: "mine", spec, document }];
  const { documents } = planAction({ kind: "shift", ...ON, weights: { v1: 60, v2: 40 } }, { ...CONTEXT, objects });
  expect(documents[1]?.spec).toMatchObject({
    http: [
      {
        route: [
          { destination: destination("v1"), weight: 60, headers },
          { destination: destination("v2"), weight: 40 },
        ],
      },
    ],
  });
});

test.each<[Action, string]>([
  [{ kind: "shift", ...ON, weights: { v1: 50, v2: 20 } }, "the shares are 70 together, they have to be 100"],
  [{ kind: "shift", ...ON, weights: { v3: 100 } }, 'there is no version of reviews "v3"; there are v1, v2'],
  [
    { kind: "shift", service: "nothing", weights: { v1: 100 } },
    'there is no service "nothing"; there are web, reviews',
  ],
  [{ kind: "ramp", ...ON, to: "v2", steps: [50, 10] }, "steps are 50, 10; each has to be larger than the one before"],
  [{ kind: "delay", ...ON, delayMs: 0, percent: 10 }, "delayMs is 0, allowed are 1 to 3600000"],
  [{ kind: "abort", ...ON, status: 700, percent: 10 }, "status is 700, allowed are 200 to 599"],
  [
    { kind: "canary", ...ON, version: "v2", header: "X Y", value: "1" },
    'header is "X Y"; expected a header name in lower case',
  ],
  [
    { kind: "circuit-breaker", ...ON },
    "nothing is limited; give one of maxConnections, maxPendingRequests, maxRequests, consecutiveErrors",
  ],
])("%j is refused: %s", (action, message) => {
  expect(() => planAction(action, CONTEXT)).toThrow(message);
});
