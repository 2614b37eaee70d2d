import { expect, test } from "vitest";
import { hostNamed, httpService, scopeOf, virtualService } from "../../../test/support/discovery/routes.ts";
import { viewOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { createResourceSource } from "../create-resource-source.ts";
import { generateGrpcListeners } from "../grpc/listeners.ts";
import { generateRoute } from "./generate-route.ts";
import { SESSION_FILTER } from "./sessions.ts";

const labelled = (name: string, labels: object) => ({ ...httpService(name), metadata: metadata(name, labels) });
const metadata = (name: string, labels: object) => ({ name, namespace: "default", labels });
const OBJECTS = [
  labelled("cookie", { "istio.io/persistent-session": "who" }),
  labelled("header", { "istio.io/persistent-session-header": "x-who" }),
  httpService("plain"),
  virtualService("plain", {
    http: [{ route: ["plain", "header", "cookie"].map((host) => ({ destination: { host }, weight: 1 })) }],
  }),
];
const withSessions = (scope: OutboundScope) =>
  ({ ...scope, mesh: { ...scope.mesh, persistentSessions: true } }) as OutboundScope;

const STATE = "type.googleapis.com/envoy.extensions.http.stateful_session";
const COOKIE = {
  name: "envoy.http.stateful_session.cookie",
  typedConfig: { "@type": `${STATE}.cookie.v3.CookieBasedSessionState`, cookie: { name: "who", path: "/" } },
};
const HEADER = {
  name: "envoy.http.stateful_session.header",
  typedConfig: { "@type": `${STATE}.header.v3.HeaderBasedSessionState`, name: "x-who" },
};
const override = (sessionState: object) => ({
  [SESSION_FILTER]: expect.objectContaining({ statefulSession: { sessionState } }),
});

test("virtual hosts say how clients of their service are known again, routes how those of the first destination are", () => {
  const config = generateRoute(withSessions(scopeOf(OBJECTS)), "8080");
  const of = (name: string) => hostNamed(config, `${name}.default.svc.cluster.local:8080`);
  expect(of("cookie").typedPerFilterConfig).toEqual(override(COOKIE));
  expect(of("header").typedPerFilterConfig).toEqual(override(HEADER));
  expect(of("plain").typedPerFilterConfig).toBeUndefined();
  expect(of("plain").routes?.[0]?.typedPerFilterConfig).toEqual(override(HEADER));
});

test("programs without sidecar have the filter of the service that they call, as the first", () => {
  const text = OBJECTS.map((entry) => JSON.stringify(entry)).join("\n---\n");
  const view = viewOfCase(text, undefined, {
    id: "sidecar~10.10.9.9~client.default~default.svc.cluster.local",
    metadata: { NAMESPACE: "default", GENERATOR: "grpc" },
  });
  const filters = (host: string) => {
    const [listener] = generateGrpcListeners({ ...view, outbound: withSessions(view.outbound) }, [host]);
    const manager = listener?.apiListener?.apiListener as unknown as { readonly httpFilters: readonly Named[] };
    return manager.httpFilters;
  };
  expect(filters("cookie:8080")[0]).toMatchObject({ name: SESSION_FILTER, typedConfig: { sessionState: COOKIE } });
  expect(filters("plain:8080").map(({ name }) => name)).not.toContain(SESSION_FILTER);
  const routes = generateRoute(withSessions(view.outbound), "8080");
  expect(JSON.stringify(routes)).not.toContain("stateful_session");
});

interface Named {
  readonly name: string;
}

test("without the setting nothing speaks of sessions", () => {
  const text = OBJECTS.map((entry) => JSON.stringify(entry)).join("\n---\n");
  const view = viewOfCase(text, undefined, {
    id: "sidecar~10.10.9.9~client.default~default.svc.cluster.local",
    metadata: { NAMESPACE: "default" },
  });
  const sent = (outbound: OutboundScope) => {
    const source = createResourceSource({ onProblem: () => undefined });
    const resources = [
      ...source.all({ ...view, outbound }, "LDS").resources,
      ...source.named({ ...view, outbound }, "RDS", ["8080"]).resources,
    ];
    return resources.map(({ any }) => Buffer.from(any).toString("latin1")).join("");
  };
  expect(sent(view.outbound)).not.toContain(SESSION_FILTER);
  expect(sent(withSessions(view.outbound))).toContain(SESSION_FILTER);
});
