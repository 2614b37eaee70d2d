import type { Permission, Policy, Principal, RBAC } from "../../protobuf/gen/envoy/config/rbac/v3.ts";
import type { Connection } from "../connection/connection.ts";
import { isInRange } from "../match/address.ts";
import { type HeaderMap, matchesHeader } from "../match/headers.ts";
import { matchesTemplate, withoutQuery } from "../match/path.ts";
import { matchesText } from "../match/text.ts";
import { type Metadata, matchesMetadata } from "./route.ts";

/** What policies may ask about. */
export interface Access {
  readonly connection: Connection;
  /** Of the client's certificate, where the connection ended TLS here. */
  readonly identity: string | undefined;
  /** Empty for connections without HTTP. */
  readonly headers: HeaderMap;
  readonly metadata: Metadata;
}

/** Whether the rules let it pass, and the policy that matched. */
export function enforce(
  rules: RBAC,
  access: Access,
): { readonly allowed: boolean; readonly matched: string | undefined } {
  // Envoy looks at them in the order of their names.
  const names = Object.keys(rules.policies ?? {}).sort();
  const matched = names.find((name) => matchesPolicy(rules.policies?.[name] ?? {}, access));
  const action = rules.action ?? "ALLOW";
  if (action === "DENY") return { allowed: matched === undefined, matched };
  return { allowed: action === "LOG" || matched !== undefined, matched };
}

function matchesPolicy({ permissions = [], principals = [] }: Policy, access: Access): boolean {
  return permissions.some((one) => isPermitted(one, access)) && principals.some((one) => isPrincipal(one, access));
}

function isPermitted(permission: Permission, access: Access): boolean {
  const { andRules, orRules, notRule, header, urlPath, uriTemplate } = permission;
  const { destination, tls } = access.connection;
  if (andRules !== undefined) return (andRules.rules ?? []).every((one) => isPermitted(one, access));
  if (orRules !== undefined) return (orRules.rules ?? []).some((one) => isPermitted(one, access));
  if (notRule !== undefined) return !isPermitted(notRule, access);
  if (permission.any !== undefined) return permission.any;
  if (header !== undefined) return matchesHeader(header, access.headers);
  if (urlPath !== undefined) return isAtPath(urlPath.path, access);
  if (uriTemplate !== undefined) {
    const path = access.headers[":path"];
    return path !== undefined && matchesTemplate(String(uriTemplate.typedConfig?.pathTemplate ?? ""), path);
  }
  if (permission.destinationIp !== undefined) return isInRange(permission.destinationIp, destination.address);
  if (permission.destinationPort !== undefined) return permission.destinationPort === destination.port;
  if (permission.destinationPortRange !== undefined) {
    const { start = 0, end = 0 } = permission.destinationPortRange;
    return destination.port >= start && destination.port < end;
  }
  if (permission.metadata !== undefined) return matchesMetadata(permission.metadata, access.metadata);
  return (
    permission.requestedServerName !== undefined && matchesText(permission.requestedServerName, tls?.serverName ?? "")
  );
}

function isPrincipal(principal: Principal, access: Access): boolean {
  const { andIds, orIds, notId, authenticated, header, urlPath } = principal;
  if (andIds !== undefined) return (andIds.ids ?? []).every((one) => isPrincipal(one, access));
  if (orIds !== undefined) return (orIds.ids ?? []).some((one) => isPrincipal(one, access));
  if (notId !== undefined) return !isPrincipal(notId, access);
  if (principal.any !== undefined) return principal.any;
  if (authenticated !== undefined) {
    if (access.identity === undefined) return false;
    return authenticated.principalName === undefined || matchesText(authenticated.principalName, access.identity);
  }
  const range = principal.directRemoteIp ?? principal.sourceIp ?? principal.remoteIp;
  if (range !== undefined) return isInRange(range, access.connection.sourceAddress);
  if (header !== undefined) return matchesHeader(header, access.headers);
  if (urlPath !== undefined) return isAtPath(urlPath.path, access);
  if (principal.metadata !== undefined) return matchesMetadata(principal.metadata, access.metadata);
  const { key = "", stringMatch } = principal.filterState ?? {};
  // The only state that generators ask for: the name of the peer, as proxies of the reference leave it.
  return (
    key === "io.istio.peer_principal" && stringMatch !== undefined && matchesText(stringMatch, access.identity ?? "")
  );
}

function isAtPath(matcher: Parameters<typeof matchesText>[0] | undefined, { headers }: Access): boolean {
  const path = headers[":path"];
  return matcher !== undefined && path !== undefined && matchesText(matcher, withoutQuery(path));
}
