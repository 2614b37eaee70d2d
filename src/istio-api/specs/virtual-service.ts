import {
  bool,
  bytes,
  double,
  duration,
  type Infer,
  int32,
  list,
  map,
  message,
  oneOf,
  optional,
  string,
  uint32,
} from "../schema/schema.ts";
import { DESTINATION } from "./common.ts";

const STRING_MATCH = message(
  "string match",
  { exact: optional(string), prefix: optional(string), regex: optional(string) },
  [["exact", "prefix", "regex"]],
);
export interface StringMatch extends Infer<typeof STRING_MATCH> {}

const HTTP_MATCH = message("http match", {
  name: string,
  uri: STRING_MATCH,
  scheme: STRING_MATCH,
  method: STRING_MATCH,
  authority: STRING_MATCH,
  headers: map(STRING_MATCH),
  port: uint32,
  sourceLabels: map(string),
  gateways: list(string),
  queryParams: map(STRING_MATCH),
  ignoreUriCase: bool,
  withoutHeaders: map(STRING_MATCH),
  sourceNamespace: string,
  statPrefix: string,
});
export interface HttpMatch extends Infer<typeof HTTP_MATCH> {}

const HEADER_OPERATIONS = message("header operations", { set: map(string), add: map(string), remove: list(string) });
export interface HeaderOperations extends Infer<typeof HEADER_OPERATIONS> {}

const HEADERS = message("headers", { request: HEADER_OPERATIONS, response: HEADER_OPERATIONS });
export interface Headers extends Infer<typeof HEADERS> {}

const HTTP_DESTINATION = message("http route destination", {
  destination: DESTINATION,
  weight: int32,
  headers: HEADERS,
});
export interface HttpRouteDestination extends Infer<typeof HTTP_DESTINATION> {}

const REDIRECT = message(
  "redirect",
  {
    uri: string,
    authority: string,
    port: optional(uint32),
    derivePort: optional(oneOf("FROM_PROTOCOL_DEFAULT", "FROM_REQUEST_PORT")),
    scheme: string,
    redirectCode: uint32,
  },
  [["port", "derivePort"]],
);
export interface HttpRedirect extends Infer<typeof REDIRECT> {}

const DIRECT_RESPONSE = message("direct response", {
  status: uint32,
  body: message("body", { string: optional(string), bytes: optional(bytes) }, [["string", "bytes"]]),
});
export interface HttpDirectResponse extends Infer<typeof DIRECT_RESPONSE> {}

const REWRITE = message("rewrite", {
  uri: string,
  authority: string,
  uriRegexRewrite: message("regex rewrite", { match: string, rewrite: string }),
});
export interface HttpRewrite extends Infer<typeof REWRITE> {}

export const RETRIES = message("retries", {
  attempts: int32,
  perTryTimeout: duration,
  retryOn: string,
  retryRemoteLocalities: optional(bool),
  retryIgnorePreviousHosts: optional(bool),
  backoff: duration,
});
export interface HttpRetries extends Infer<typeof RETRIES> {}

const PERCENT = message("percentage", { value: double });

const FAULT = message("fault", {
  delay: message("delay", { percent: int32, fixedDelay: duration, exponentialDelay: duration, percentage: PERCENT }, [
    ["fixedDelay", "exponentialDelay"],
  ]),
  abort: message(
    "abort",
    { httpStatus: optional(int32), grpcStatus: optional(string), http2Error: optional(string), percentage: PERCENT },
    [["httpStatus", "grpcStatus", "http2Error"]],
  ),
});
export interface HttpFault extends Infer<typeof FAULT> {}

const MIRROR = message("mirror", { destination: DESTINATION, percentage: PERCENT });
export interface HttpMirror extends Infer<typeof MIRROR> {}

const CORS = message("cors policy", {
  allowOrigin: list(string),
  allowOrigins: list(STRING_MATCH),
  allowMethods: list(string),
  allowHeaders: list(string),
  exposeHeaders: list(string),
  maxAge: duration,
  allowCredentials: optional(bool),
  unmatchedPreflights: oneOf("UNSPECIFIED", "FORWARD", "IGNORE"),
});
export interface CorsPolicy extends Infer<typeof CORS> {}

const HTTP_ROUTE = message("http route", {
  name: string,
  match: list(HTTP_MATCH),
  route: list(HTTP_DESTINATION),
  redirect: REDIRECT,
  directResponse: DIRECT_RESPONSE,
  delegate: message("delegate", { name: string, namespace: string }),
  rewrite: REWRITE,
  timeout: duration,
  retries: RETRIES,
  fault: FAULT,
  mirror: DESTINATION,
  mirrors: list(MIRROR),
  mirrorPercent: optional(uint32),
  mirrorPercentage: PERCENT,
  corsPolicy: CORS,
  headers: HEADERS,
});
export interface HttpRoute extends Infer<typeof HTTP_ROUTE> {}

const ROUTE_DESTINATION = message("route destination", { destination: DESTINATION, weight: int32 });
export interface RouteDestination extends Infer<typeof ROUTE_DESTINATION> {}

const TLS_MATCH = message("tls match", {
  sniHosts: list(string),
  destinationSubnets: list(string),
  port: uint32,
  sourceLabels: map(string),
  gateways: list(string),
  sourceNamespace: string,
});
export interface TlsMatch extends Infer<typeof TLS_MATCH> {}

const TCP_MATCH = message("tcp match", {
  destinationSubnets: list(string),
  port: uint32,
  sourceSubnet: string,
  sourceLabels: map(string),
  gateways: list(string),
  sourceNamespace: string,
});
export interface TcpMatch extends Infer<typeof TCP_MATCH> {}

const TLS_ROUTE = message("tls route", { match: list(TLS_MATCH), route: list(ROUTE_DESTINATION) });
export interface TlsRoute extends Infer<typeof TLS_ROUTE> {}
const TCP_ROUTE = message("tcp route", { match: list(TCP_MATCH), route: list(ROUTE_DESTINATION) });
export interface TcpRoute extends Infer<typeof TCP_ROUTE> {}

export const VIRTUAL_SERVICE = message("virtual service", {
  hosts: list(string),
  gateways: list(string),
  http: list(HTTP_ROUTE),
  tls: list(TLS_ROUTE),
  tcp: list(TCP_ROUTE),
  exportTo: list(string),
});
export interface VirtualServiceSpec extends Infer<typeof VIRTUAL_SERVICE> {}
