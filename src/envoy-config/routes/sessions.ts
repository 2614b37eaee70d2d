import { type Service, sessionsOf } from "../../mesh-model/service.ts";
import { type AnyMessage, pack } from "../../protobuf/envoy/index.ts";
import type { StatefulSession } from "../../protobuf/gen/envoy/extensions/filters/http/stateful_session/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";

export const SESSION_FILTER = "envoy.filters.http.stateful_session";

/** A filter that holds the requests of a client at one endpoint: with the sessions of a service, or until a route says how. */
export function sessionFilter(session: StatefulSession = {}): HttpFilter {
  return {
    name: SESSION_FILTER,
    typedConfig: pack("envoy.extensions.filters.http.stateful_session.v3.StatefulSession", session),
  };
}

/** What the filter does for requests to this service; undefined where it asks for no sessions. */
export function sessionOverride(service: Service | undefined): AnyMessage | undefined {
  const statefulSession = service && buildSession(service);
  return (
    statefulSession &&
    pack("envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute", { statefulSession })
  );
}

/** Cookies end with the client: what an endpoint knows of a session is no longer there than it is. */
export function buildSession(service: Service): StatefulSession | undefined {
  const { cookie, header } = sessionsOf(service);
  if (cookie !== "") {
    const [name = "", ...path] = cookie.split(":");
    return state("cookie", "CookieBasedSessionState", { cookie: { name, path: path.join(":") || "/" } });
  }
  return header === "" ? undefined : state("header", "HeaderBasedSessionState", { name: header });
}

function state(kind: "cookie" | "header", message: string, value: object): StatefulSession {
  const type = `${TYPE_PREFIX}envoy.extensions.http.stateful_session.${kind}.v3.${message}`;
  return {
    sessionState: { name: `envoy.http.stateful_session.${kind}`, typedConfig: { "@type": type, ...value } },
  };
}
