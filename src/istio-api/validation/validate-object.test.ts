import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { decodeObject } from "../decode/decode-object.ts";
import { isKind, istioMessage, KINDS, type Kind } from "../kinds.ts";

/** Problems of a spec as `path: message`; warnings begin with a question mark. */
function problemsOf(kind: Kind, spec: unknown, namespace = "prod"): readonly string[] {
  const { group, versions } = KINDS[kind];
  const document = { apiVersion: `${group}/${versions[0]}`, kind, metadata: { name: "x", namespace }, spec };
  return decodeObject(document, { defaultNamespace: "default" }).problems.map(
    ({ path, message, severity }) =>
      `${severity === "warning" ? "? " : ""}${formatPath(path).replace(/^spec\.?/, "")}: ${message}`,
  );
}

/** Every case: what is wrong with the object, reported exactly and alone. */
type Cases = readonly (readonly [spec: unknown, ...says: string[]])[];
const table = (kind: Kind, cases: Cases) =>
  test.each(cases.map(([spec, ...says]) => ({ says, spec })))("$says", ({ says, spec }) => {
    expect(problemsOf(kind, spec)).toEqual(says);
  });

const http = (route: unknown, extra: object = {}) => ({ hosts: ["web"], http: [route], ...extra });
const to = [{ destination: { host: "web" } }];
const vs = (route: object) => http({ route: to, ...route });
const regexHint = "Istio uses RE2 style regex-based match (https://github.com/google/re2/wiki/Syntax)";
const rewriteRule =
  "rewrite must specify at least one of URI, UriRegexRewrite, or authority. Only one of URI or UriRegexRewrite may be specified";

describe("VirtualService: http", () => {
  table("VirtualService", [
    [vs({})],
    [{ hosts: ["web"] }, ": http, tcp or tls must be provided in virtual service"],
    [
      http({ route: to }, { hosts: ["*"] }),
      "hosts[0]: wildcard host * is not allowed for virtual services bound to the mesh gateway",
    ],
    [http({ route: to }, { hosts: ["*"], gateways: ["gw"] })],
    [http({ route: to }, { hosts: ["a.b", "a.b"] }), "hosts[1]: duplicate hosts in virtual service: a.b & a.b"],
    [http({ route: to }, { hosts: ["*.b", "a.b"] }), "hosts[1]: duplicate hosts in virtual service: *.b & a.b"],
    [http({ route: to }, { hosts: ["*.a.b", "*.b"] }), "hosts[1]: duplicate hosts in virtual service: *.a.b & *.b"],
    [http({ route: to }, { hosts: ["a_b"] }), 'hosts[0]: domain name "a_b" invalid (label "a_b" invalid)'],
    [http({ route: to }, { hosts: ["10.0.0.1", "2001:db8::1"] })],
    [http({}), "http[0]: HTTP route, redirect or direct_response is required"],
    [http(null), "http[0]: http route may not be null"],
    [vs({ redirect: { uri: "/" } }), "http[0]: HTTP route cannot contain both route and redirect"],
    [vs({ directResponse: { status: 200 } }), "http[0]: HTTP route cannot contain both route and direct_response"],
    [
      http({ redirect: { uri: "/" }, fault: { delay: { fixedDelay: "1s" } } }),
      "http[0]: HTTP route cannot contain both fault and redirect",
    ],
    [
      http({ redirect: { uri: "/" }, rewrite: { uri: "/" } }),
      "http[0]: HTTP route rule cannot contain both rewrite and redirect",
    ],
    [
      http({ redirect: { uri: "/" }, directResponse: { status: 200 } }),
      "http[0]: HTTP route rule cannot contain both direct_response and redirect",
    ],
    [
      http({ directResponse: { status: 200 }, fault: { delay: { fixedDelay: "1s" } } }),
      "http[0]: HTTP route cannot contain both fault and direct_response",
    ],
    [
      http({ directResponse: { status: 200 }, rewrite: { uri: "/" } }),
      "http[0]: HTTP route rule cannot contain both rewrite and direct_response",
    ],
    [
      http({ directResponse: { status: 600 } }),
      "http[0].directResponse.status: HTTP status 600 is not in range 200-599",
    ],
    [
      http({ directResponse: { status: 200, body: { bytes: "not base64!" } } }),
      "http[0].directResponse.body.bytes: bytes must be base64",
    ],
    [
      http({ directResponse: { status: 200, body: { string: "x".repeat(1048577) } } }),
      "http[0].directResponse.body: body of 1048577 bytes is too large, at most 1048576",
    ],
    [
      http({ redirect: { uri: "/a\nb" } }),
      'http[0].redirect.uri: "/a\\nb" holds a line end or a zero byte, which no header can carry',
    ],
    [
      vs({ rewrite: { authority: "a\r" } }),
      'http[0].rewrite.authority: "a\\r" holds a line end or a zero byte, which no header can carry',
    ],
    [
      vs({ headers: { response: { set: { x: "a\0" } } } }),
      'http[0].headers.response.set.x: "a\\u0000" holds a line end or a zero byte, which no header can carry',
    ],
    [http({ redirect: {} }), "http[0].redirect: redirect must specify URI, authority, scheme, or port"],
    [
      http({ redirect: { uri: "/", redirectCode: 200 } }),
      "http[0].redirect.redirectCode: 200 is not a valid redirect code, must be 3xx",
    ],
    [
      http({ redirect: { uri: "/", redirectCode: 304 } }),
      "http[0].redirect.redirectCode: 304 is not a supported redirect code; allowed: 301, 302, 303, 307, 308",
    ],
    [
      http({ redirect: { scheme: "ftp" } }),
      'http[0].redirect.scheme: invalid redirect scheme "ftp", must be "http" or "https"',
    ],
    [http({ redirect: { uri: "/", port: 0 } })],
    [http({ redirect: { port: 70000 } }), "http[0].redirect.port: port number 70000 must be in the range 1..65535"],
    [
      http({ redirect: { port: 80, derivePort: "FROM_REQUEST_PORT" } }),
      "http[0].redirect: only one of port, derivePort may be set, found port and derivePort",
    ],
    [http({ route: [{}] }), "http[0].route[0].destination: destination is required"],
    [
      http({ route: [{ destination: { host: "*" } }] }),
      "http[0].route[0].destination.host: invalid destination host *",
    ],
    [
      http({ route: [{ destination: { host: "" } }] }),
      "http[0].route[0].destination.host: empty domain name not allowed",
    ],
    [
      http({ route: [{ destination: { host: "web", subset: "A_b" } }] }),
      "http[0].route[0].destination.subset: subset name is invalid: A_b",
    ],
    [
      http({ route: [{ destination: { host: "web", port: {} } }] }),
      "http[0].route[0].destination.port: port number 0 must be in the range 1..65535",
    ],
    [
      http({
        route: [
          { ...to[0], weight: -1 },
          { ...to[0], weight: 5 },
        ],
      }),
      "http[0].route[0].weight: weight -1 < 0",
    ],
    [http({ route: [to[0], to[0]] }), "http[0].route: total destination weight = 0"],
    [
      http({
        route: [
          { ...to[0], weight: 2147483647 },
          { ...to[0], weight: 2147483647 },
          { ...to[0], weight: 2147483647 },
        ],
      }),
      "http[0].route: total destination weight 6442450941 is larger than 4294967295",
    ],
    [vs({ timeout: "0s" }), "http[0].timeout: duration must be greater than 1ms"],
    [vs({ corsPolicy: { maxAge: "0s" } }), "http[0].corsPolicy.maxAge: duration must be greater than 1ms"],
    [
      vs({ retries: { attempts: 1, perTryTimeout: "0s" } }),
      "http[0].retries.perTryTimeout: duration must be greater than 1ms",
    ],
    [
      http({ route: [{ destination: { host: "10.0.0.1" } }] }),
      'http[0].route[0].destination.host: domain name "0.0.1" invalid (top level domain "1" cannot be all-numeric)',
    ],
    [vs({ timeout: "1.0005s" }), "http[0].timeout: only durations to ms precision are supported"],
    [vs({ fault: {} }), "http[0].fault: HTTP fault injection must have an abort and/or a delay"],
    [
      vs({ fault: { abort: { httpStatus: 100 } } }),
      "http[0].fault.abort.httpStatus: HTTP status 100 is not in range 200-599",
    ],
    [
      vs({ fault: { abort: { httpStatus: 503, percentage: { value: 101 } } } }),
      "http[0].fault.abort.percentage: percentage 101 is not in range 0..100",
    ],
    [vs({ fault: { abort: {} } }), "? http[0].fault.abort: without httpStatus or grpcStatus the abort has no effect"],
    [
      vs({ fault: { delay: { fixedDelay: "1s", percent: -1 } } }),
      "http[0].fault.delay.percent: percentage -1 is not in range 0..100",
    ],
    [vs({ fault: { delay: {} } }), "? http[0].fault.delay: without fixedDelay the delay has no effect"],
    [
      vs({ headers: { request: { set: { "": "x" } } } }),
      'http[0].headers.request.set[""]: header name cannot be empty',
    ],
    [
      vs({ headers: { response: { remove: ["a b"] } } }),
      "http[0].headers.response.remove[0]: header name a b is not a valid header name",
    ],
    [vs({ headers: { request: { add: { ":authority": "x" } } } })],
    [vs({ headers: { request: { set: { Host: "x", "a.b~c": "y" } } } })],
    [
      vs({ headers: { request: { remove: ["Host"] } } }),
      'http[0].headers.request.remove[0]: invalid header "Host": cannot set Host header',
    ],
    [
      vs({ headers: { response: { set: { host: "x" } } } }),
      'http[0].headers.response.set.host: invalid header "host": cannot set Host header',
    ],
    [
      vs({ headers: { response: { add: { ":authority": "x" } } } }),
      'http[0].headers.response.add[":authority"]: header name :authority is not a valid header name',
    ],
    [
      vs({ rewrite: { authority: "a" }, headers: { request: { set: { Host: "b" } } } }),
      "http[0]: authority header cannot be set multiple times: have rewrite.authority, headers.request.set.Host",
    ],
    [
      vs({ match: [{ headers: { "a b": { exact: "x" } } }] }),
      'http[0].match[0].headers["a b"]: header name a b is not a valid header name',
    ],
    [
      vs({ match: [{ uri: { exact: "/", prefix: "/" } }] }),
      "http[0].match[0].uri: only one of exact, prefix, regex may be set, found exact and prefix",
    ],
    [
      vs({ match: [{ uri: { regex: "x".repeat(1025) } }] }),
      'http[0].match[0].uri.regex: "uri": regex is too large, max length allowed is 1024',
    ],
    [
      vs({ match: [{ uri: { regex: "(?=a)" } }] }),
      `http[0].match[0].uri.regex: "uri": error parsing regexp: invalid or unsupported Perl syntax: \`(?=\`; ${regexHint}`,
    ],
    [vs({ match: [{ headers: { x: { regex: "*" } }, withoutHeaders: { y: { regex: "*" } }, uri: { prefix: "" } }] })],
    ...(["scheme", "method", "authority", "uri"] as const).map(
      (name) =>
        [
          vs({ match: [{ [name]: { regex: "*" } }] }),
          `http[0].match[0].${name}.regex: "${name}": error parsing regexp: missing argument to repetition operator: \`*\`; ${regexHint}`,
        ] as const,
    ),
    [
      vs({ match: [{ headers: { x: { prefix: "" } }, method: { regex: "" } }] }),
      'http[0].match[0].method.regex: "method": regex string match should not be empty',
      'http[0].match[0].headers.x.prefix: "headers": prefix string match should not be empty',
    ],
    [
      vs({ match: [{ sourceNamespace: "a b" }] }),
      "http[0].match[0].sourceNamespace: sourceNamespace match a b is invalid",
    ],
    [
      vs({ match: [{ queryParams: { q: { regex: "[" } } }] }),
      `http[0].match[0].queryParams.q.regex: "queryParams": error parsing regexp: missing closing ]: \`[\`; ${regexHint}`,
    ],
    [vs({ match: [{ port: 65536 }] }), "http[0].match[0].port: port number 65536 must be in the range 1..65535"],
    [vs({ match: [{ sourceLabels: { "a b": "c" } }] }), 'http[0].match[0].sourceLabels["a b"]: invalid tag key: "a b"'],
    [
      vs({ match: [{ gateways: ["a/b/c"] }] }),
      'http[0].match[0].gateways[0]: invalid gateway name "a/b/c"; allowed: mesh, name, namespace/name',
    ],
    [
      vs({ match: [{ headers: { "@request.auth.claims.sub": { exact: "x" } } }] }),
      'http[0].match[0].headers["@request.auth.claims.sub"]: JWT claim based routing (key: @request.auth.claims.sub) is only supported for gateway, found no gateways',
    ],
    [http({ route: to, match: [{ headers: { "@request.auth.claims[sub]": { exact: "x" } } }] }, { gateways: ["gw"] })],
    [
      http({ route: to, match: [{ headers: { "@request.auth.claims[sub]": {} } }] }, { gateways: ["gw", "mesh"] }),
      'http[0].match[0].headers["@request.auth.claims[sub]"]: JWT claim based routing (key: @request.auth.claims[sub]) is only supported for gateway, found no gateways',
    ],
    [
      vs({ match: [{ gateways: ["./gw"] }] }),
      'http[0].match[0].gateways[0]: invalid gateway name "./gw"; allowed: mesh, name, namespace/name',
    ],
    [vs({ rewrite: {} }), `http[0].rewrite: ${rewriteRule}`],
    [vs({ rewrite: { uri: "/", uriRegexRewrite: { match: "a", rewrite: "b" } } }), `http[0].rewrite: ${rewriteRule}`],
    [
      vs({ rewrite: { uriRegexRewrite: { match: "a" } } }),
      "http[0].rewrite.uriRegexRewrite: UriRegexRewrite requires both Rewrite and Match fields to be specified",
    ],
    [
      vs({ mirror: { host: "a" }, mirrors: [{ destination: { host: "b" } }] }),
      "http[0].mirrors: HTTP route cannot contain both mirror and mirrors",
    ],
    [vs({ mirrors: [{}] }), "http[0].mirrors[0].destination: destination is required"],
    [
      vs({ mirror: { host: "a" }, mirrorPercentage: { value: 200 } }),
      "http[0].mirrorPercentage: percentage 200 is not in range 0..100",
    ],
    [vs({ retries: { attempts: -1 } }), "http[0].retries.attempts: attempts cannot be negative"],
    [
      vs({ retries: { attempts: 0, retryOn: "5xx" } }),
      "http[0].retries.attempts: http retry policy configured when attempts are set to 0 (disabled)",
    ],
    [
      vs({ retries: { attempts: 1, retryOn: "5xx, 503, nonsense" } }),
      'http[0].retries.retryOn: "nonsense" is not a valid retryOn policy',
    ],
    [
      vs({ retries: { attempts: 1, perTryTimeout: "1us" } }),
      "http[0].retries.perTryTimeout: duration must be greater than 1ms",
    ],
    [
      vs({ fault: { abort: { grpcStatus: "BAD" } } }),
      'http[0].fault.abort.grpcStatus: gRPC status "BAD" is not supported. See https://github.com/grpc/grpc/blob/master/doc/statuscodes.md for a list of supported codes',
    ],
    [
      vs({ corsPolicy: { allowMethods: ["FETCH"] } }),
      'http[0].corsPolicy.allowMethods[0]: "FETCH" is not a supported HTTP method',
    ],
    [
      vs({ corsPolicy: { allowOrigins: [{}] } }),
      "http[0].corsPolicy.allowOrigins[0]: 'exact', 'prefix' or 'regex' must be set to a non-empty value",
    ],
    [
      vs({ corsPolicy: { maxAge: "1.5s" } }),
      "http[0].corsPolicy.maxAge: max_age duration is accurate only to seconds precision",
    ],
    [
      { hosts: ["a"], http: [{ route: to }, { route: to }] },
      "? http[1]: virtualService rule #1 not used (rule #0 before it has no matches and takes everything)",
    ],
    [{ gateways: ["gw"], http: [{ route: to }] }, "gateways: delegate virtual service must have no gateways specified"],
    [{ http: [{ delegate: { name: "x" } }] }, "http[0].delegate: delegate virtual service cannot delegate again"],
    [
      { hosts: ["a"], http: [{ name: "n", delegate: { name: "x" }, route: to }] },
      "http[0].route: root HTTP route n must not specify route",
    ],
    [vs({ route: to, matches: [] }), '? http[0].matches: unknown field "matches" in http route, it is ignored'],
  ]);
});

describe("VirtualService: tls and tcp", () => {
  const tls = (match: object) => ({ hosts: ["*.a.b"], tls: [{ match: [match], route: to }] });
  table("VirtualService", [
    [tls({ sniHosts: ["x.a.b"] })],
    [tls({}), "tls[0].match[0].sniHosts: TLS match must have at least one SNI host"],
    [tls({ sniHosts: ["10.0.0.1"] })],
    [
      tls({ sniHosts: ["x.c"] }),
      'tls[0].match[0].sniHosts[0]: SNI host "x.c" is not a compatible subset of any of the virtual service hosts: [*.a.b]',
    ],
    [{ hosts: ["a"], tls: [{ route: to }] }, "tls[0].match: TLS route must have at least one match condition"],
    [
      tls({ sniHosts: ["x.a.b"], destinationSubnets: ["10.0.0.0/33"] }),
      "tls[0].match[0].destinationSubnets[0]: 10.0.0.0/33 is not a valid CIDR block",
    ],
    [{ hosts: ["a"], tcp: [{}] }, "tcp[0].route: TCP route is required"],
    [
      { hosts: ["a"], tcp: [{ match: [{ sourceSubnet: "x" }], route: to }] },
      "? tcp[0].match[0].sourceSubnet: has no effect: an AuthorizationPolicy with ipBlocks says who may connect",
    ],
    [{ tcp: [{ route: to }] }, "tcp: delegate virtual service cannot have tcp routes"],
  ]);
});

describe("exportTo", () => {
  table("VirtualService", [
    [{ ...vs({}), exportTo: ["a", "a"] }, "exportTo[1]: duplicate entries in exportTo for entry a"],
    [{ ...vs({}), exportTo: [".", "prod"] }, "exportTo[1]: duplicate entries in exportTo for entry prod"],
    [
      { ...vs({}), exportTo: ["*", "a"] },
      "exportTo: cannot have both public (*) and non-public exportTo values for a resource",
    ],
    [
      { ...vs({}), exportTo: ["a b"] },
      'exportTo[0]: only ., *, or a valid DNS 1123 label is allowed as exportTo entry, found "a b"',
    ],
    [{ ...vs({}), exportTo: ["~"] }, "exportTo: exportTo ~ (none) is not allowed for Istio configuration objects"],
  ]);
});

describe("DestinationRule", () => {
  const policy = (trafficPolicy: object) => ({ host: "web", trafficPolicy });
  const pool = (connectionPool: object) => policy({ connectionPool });
  const lb = (loadBalancer: object) => policy({ loadBalancer });
  const at = "trafficPolicy.connectionPool";
  table("DestinationRule", [
    [{ host: "web" }],
    [{}, "host: empty domain name not allowed"],
    [{ host: "web", subsets: [null] }, "subsets[0]: subset may not be null"],
    [{ host: "web", subsets: [{ name: "a" }, { name: "a" }] }, "subsets[1].name: duplicate subset names: a"],
    [{ host: "web", subsets: [{}] }, "subsets[0].name: subset name cannot be empty"],
    [{ host: "-web" }, 'host: domain name "-web" invalid (label "-web" invalid)'],
    [{ host: "*-web.example" }],
    [{ host: "web", subsets: [{ name: "a", labels: { v: "x".repeat(64) } }] }],
    [{ host: "web", subsets: [{ name: "a", labels: { v: "!" } }] }, 'subsets[0].labels.v: invalid tag value: "!"'],
    [policy({}), "trafficPolicy: traffic policy must have at least one field"],
    [policy({ proxyProtocol: {} })],
    [pool({}), `${at}: connection pool must have at least one field`],
    [pool({ tcp: { maxConnections: -1 } }), `${at}.tcp.maxConnections: max connections must be non-negative`],
    [pool({ tcp: { idleTimeout: "0s" } })],
    [pool({ tcp: { idleTimeout: "-1s" } }), `${at}.tcp.idleTimeout: duration must be greater than 1ms`],
    [pool({ tcp: { connectTimeout: "0s" } }), `${at}.tcp.connectTimeout: duration must be greater than 1ms`],
    [
      pool({ http: { http1MaxPendingRequests: -1 } }),
      `${at}.http.http1MaxPendingRequests: http1 max pending requests must be non-negative`,
    ],
    [pool({ http: { http2MaxRequests: -1 } }), `${at}.http.http2MaxRequests: http2 max requests must be non-negative`],
    [
      pool({ http: { maxRequestsPerConnection: -1 } }),
      `${at}.http.maxRequestsPerConnection: max requests per connection must be non-negative`,
    ],
    [pool({ http: { maxRetries: -1 } }), `${at}.http.maxRetries: max retries must be non-negative`],
    [
      pool({ http: { maxConcurrentStreams: -1 } }),
      `${at}.http.maxConcurrentStreams: max concurrent streams must be non-negative`,
    ],
    [
      pool({ http: { h2UpgradePolicy: "UPGRADE", useClientProtocol: true } }),
      `${at}.http.useClientProtocol: use client protocol must not be true when H2UpgradePolicy is UPGRADE`,
    ],
    [
      lb({ consistentHash: { httpCookie: {} } }),
      "trafficPolicy.loadBalancer.consistentHash.httpCookie: name required for HttpCookie",
    ],
    [
      lb({ consistentHash: { useSourceIp: true, maglev: { tableSize: 1024 } } }),
      "trafficPolicy.loadBalancer.consistentHash.maglev.tableSize: tableSize must be a prime number for maglev",
    ],
    [
      lb({ consistentHash: { useSourceIp: true, maglev: { tableSize: 5000011 } } }),
      "trafficPolicy.loadBalancer.consistentHash.maglev.tableSize: tableSize must be less than 5000011 for maglev",
    ],
    [
      lb({ consistentHash: { useSourceIp: true, maglev: {} } }),
      "trafficPolicy.loadBalancer.consistentHash.maglev.tableSize: tableSize must be set for maglev",
    ],
    [
      lb({ consistentHash: { useSourceIp: true, minimumRingSize: 8, ringHash: {} } }),
      "trafficPolicy.loadBalancer.consistentHash.minimumRingSize: only one of MinimumRingSize or Maglev/Ringhash can be specified",
    ],
    [lb({ consistentHash: { httpCookie: { name: "c", ttl: "0s" } } })],
    [
      lb({ consistentHash: { httpCookie: { name: "c", ttl: "-1s" } } }),
      "trafficPolicy.loadBalancer.consistentHash.httpCookie.ttl: duration must not be negative",
    ],
    [
      lb({ consistentHash: { httpCookie: { name: "c", attributes: [{ name: "a" }, { name: "a" }, {}] } } }),
      "trafficPolicy.loadBalancer.consistentHash.httpCookie.attributes[1].name: duplicate cookie attribute name: a",
      "trafficPolicy.loadBalancer.consistentHash.httpCookie.attributes[2].name: cookie attribute name cannot be empty",
    ],
    [
      lb({ simple: "RANDOM", consistentHash: { useSourceIp: true } }),
      "trafficPolicy.loadBalancer: only one of simple, consistentHash may be set, found simple and consistentHash",
    ],
    [
      lb({ localityLbSetting: { failover: [{ from: "a", to: "a" }] } }),
      "trafficPolicy.loadBalancer.localityLbSetting: locality lb failover settings must specify different regions",
    ],
    [lb({ zoneAwareLbSetting: { failover: [{ from: "a", to: "b" }], failoverPriority: ["app"] } })],
    [
      lb({ localityLbSetting: {}, zoneAwareLbSetting: {} }),
      "trafficPolicy.loadBalancer.zoneAwareLbSetting: only one of localityLbSetting and zoneAwareLbSetting can be set",
    ],
    [
      lb({ zoneAwareLbSetting: { failoverPriority: ["topology.kubernetes.io/zone"] } }),
      "trafficPolicy.loadBalancer.zoneAwareLbSetting.failoverPriority[0]: 'failover_priority' for zone aware lb must not use topology label 'topology.kubernetes.io/zone'; region- and zone-level routing are handled automatically",
    ],
    [
      lb({
        zoneAwareLbSetting: {
          failover: [
            { from: "a", to: "a" },
            { from: "a/b", to: "*" },
          ],
        },
      }),
      "trafficPolicy.loadBalancer.zoneAwareLbSetting.failover[0]: zone aware lb failover settings must specify different regions",
      "trafficPolicy.loadBalancer.zoneAwareLbSetting.failover[1]: zone aware lb failover only specifies region; zone and subzone failover are handled automatically",
      "trafficPolicy.loadBalancer.zoneAwareLbSetting.failover[1]: zone aware lb failover region should not contain '*' wildcard",
    ],
    [pool({ http: { http2KeepAlive: { interval: "30s", timeout: "5s" } } })],
    [
      pool({ http: { http2KeepAlive: { interval: "0s" } } }),
      `${at}.http.http2KeepAlive.interval: duration must be greater than 1ms`,
      `${at}.http.http2KeepAlive.timeout: http2 keepalive timeout is required`,
    ],
    [lb({ simple: "ROUND_ROBIN", warmup: {} }), "trafficPolicy.loadBalancer.warmup.duration: duration is required"],
    [
      lb({ warmup: { duration: "1s", aggression: 0 } }),
      "trafficPolicy.loadBalancer.warmup.aggression: aggression should be greater than 0, found 0",
    ],
    [lb({ warmup: { duration: "1s", aggression: 0.5 }, warmupDurationSecs: "0s" })],
    [lb({ warmupDurationSecs: "-1s" }), "trafficPolicy.loadBalancer.warmupDurationSecs: duration must not be negative"],
    [
      policy({ portLevelSettings: [{ tls: {} }] }),
      "trafficPolicy.portLevelSettings[0].port: portTrafficPolicy must have valid port",
    ],
    [
      policy({ portLevelSettings: [{ port: { number: 80 } }] }),
      "trafficPolicy.portLevelSettings[0]: port traffic policy must have at least one field",
    ],
    [
      policy({ outlierDetection: { interval: "0s" } }),
      "trafficPolicy.outlierDetection.interval: duration must be greater than 1ms",
    ],
    [
      policy({ outlierDetection: { maxEjectionPercent: 101 } }),
      "trafficPolicy.outlierDetection.maxEjectionPercent: percentage 101 is not in range 0..100",
    ],
    [
      policy({ outlierDetection: { consecutiveLocalOriginFailures: 3 } }),
      "trafficPolicy.outlierDetection.consecutiveLocalOriginFailures: outlier detection consecutive local origin failures is specified, but split external local origin errors is set to false",
    ],
    [
      policy({ tls: { mode: "MUTUAL", privateKey: "k" } }),
      "trafficPolicy.tls: client certificate required for mutual tls",
    ],
    [
      policy({ tls: { mode: "SIMPLE", credentialName: "c" } }),
      "? trafficPolicy.tls.credentialName: credentialName has an effect only on gateways and in rules with a workloadSelector",
    ],
    [{ ...policy({ tls: { mode: "SIMPLE", credentialName: "c" } }), workloadSelector: { matchLabels: { a: "b" } } }],
    [
      policy({ tunnel: { protocol: "GET", targetHost: "a.b", targetPort: 1 } }),
      'trafficPolicy.tunnel.protocol: tunnel protocol must be "CONNECT" or "POST", found "GET"',
    ],
    [
      policy({ tunnel: { targetHost: "a_b", targetPort: 0 } }),
      "trafficPolicy.tunnel.targetHost: tunnel target host must be valid FQDN or IP address: a_b",
      "trafficPolicy.tunnel.targetPort: tunnel target port is invalid: port number 0 must be in the range 1..65535",
    ],
    [
      policy({ tunnel: { targetHost: "a.b", targetPort: 1 }, proxyProtocol: {} }),
      "trafficPolicy.tunnel: tunnel and proxyProtocol must not be set together",
    ],
    [
      policy({ retryBudget: { percent: 120 } }),
      "trafficPolicy.retryBudget.percent: percentage 120 is not in range 0..100",
    ],
    [
      { host: "web", workloadSelector: { matchLabels: { a: "b" } }, exportTo: ["other"] },
      "exportTo[0]: destination rule with workload selector cannot have exportTo beyond current namespace",
    ],
    [
      { host: "web", workloadSelector: { matchLabels: { a: "*" } }, exportTo: ["."] },
      "workloadSelector.matchLabels.a: wildcard is not supported in selector: a: *",
    ],
  ]);
});

describe("ServiceEntry", () => {
  const port = { number: 80, name: "http", protocol: "HTTP" };
  const se = (extra: object) => ({ hosts: ["a.b"], ports: [port], resolution: "STATIC", ...extra });
  const dns = (extra: object) => se({ resolution: "DNS", ...extra });
  const warning =
    "addresses are required for ports serving TCP (or unset) protocol: without them all traffic of that port matches";
  table("ServiceEntry", [
    [se({ endpoints: [{ address: "10.0.0.1" }] })],
    [se({ hosts: [] }), "hosts: service entry must have at least one host"],
    [se({ hosts: ["*"] }), "hosts[0]: invalid host *"],
    [se({ hosts: ["a_b"] }), 'hosts[0]: invalid host a_b: domain name "a_b" invalid (label "a_b" invalid)'],
    [
      se({ workloadSelector: { labels: { a: "b" } }, endpoints: [{ address: "10.0.0.1" }] }),
      "workloadSelector: only one of WorkloadSelector or Endpoints is allowed in Service Entry",
    ],
    [dns({ addresses: ["10.0.0.0/8"] }), "addresses: CIDR addresses are allowed only for NONE/STATIC resolution types"],
    [se({ addresses: ["ten"] }), "addresses[0]: ten is not a valid CIDR block"],
    [se({ ports: [port, { ...port, number: 81 }] }), 'ports[1].name: service entry port name "http" already defined'],
    [se({ ports: [port, { ...port, name: "b" }] }), "ports[1].number: service entry port 80 already defined"],
    [se({ ports: [{ ...port, number: 0 }] }), "ports[0].number: port number 0 must be in the range 1..65535"],
    [
      se({ ports: [{ ...port, targetPort: 70000 }] }),
      "ports[0].targetPort: port number 70000 must be in the range 1..65535",
    ],
    [se({ ports: [{ ...port, name: "" }] }), "ports[0].name: invalid port name: "],
    [
      se({ ports: [{ ...port, protocol: "SPDY" }] }),
      `? ports[0]: ${warning}`,
      "ports[0].protocol: unsupported protocol: SPDY",
    ],
    [se({ ports: [{ ...port, protocol: "TCP" }] }), `? ports[0]: ${warning}`],
    [
      se({ resolution: "NONE", endpoints: [{ address: "10.0.0.1" }] }),
      "endpoints: no endpoints should be provided for resolution type none",
    ],
    [
      se({ endpoints: [{ address: "10.0.0.1", ports: { other: 81 } }] }),
      "endpoints[0].ports.other: endpoint port 81 is not defined by the service entry: other",
    ],
    [se({ endpoints: [{ address: "a.b" }] }), 'endpoints[0].address: endpoint address "a.b" is not a valid IP address'],
    [se({ endpoints: [{ address: "unix://rel" }] }), "endpoints[0].address: rel is not an absolute path"],
    [
      se({ endpoints: [{ address: "unix:///s", ports: { http: 1 } }] }),
      "endpoints[0].ports: unix endpoint unix:///s must not include ports",
    ],
    [
      dns({ endpoints: [{ address: "a_b" }] }),
      'endpoints[0].address: endpoint address "a_b" is not a valid FQDN or an IP address',
    ],
    [
      dns({ hosts: ["*.b"] }),
      "hosts[0]: hosts must be FQDN or contain only prefix wildcards if no endpoints are provided for resolution mode DNS: *.b cannot be resolved",
    ],
    [
      se({ resolution: "DNS_ROUND_ROBIN", endpoints: [{ address: "a.b" }, { address: "c.d" }] }),
      "endpoints: there must only be 0 or 1 endpoint for resolution mode DNS_ROUND_ROBIN",
    ],
    [
      dns({ endpoints: [{ address: "unix:///s" }] }),
      'endpoints[0].address: endpoint address "unix:///s" is not a valid FQDN or an IP address',
    ],
    [
      se({ endpoints: [{ address: "unix:///s" }], ports: [port, { ...port, name: "b", number: 81 }] }),
      "endpoints[0].address: exactly 1 service port required for unix endpoints",
    ],
    [
      se({
        resolution: "DYNAMIC_DNS",
        addresses: ["10.0.0.1"],
        endpoints: [{ address: "10.0.0.2" }],
        ports: [{ ...port, protocol: "TCP" }],
      }),
      "hosts[0]: host must be wildcarded for resolution mode DYNAMIC_DNS",
      "addresses: addresses cannot be set for resolution type DYNAMIC_DNS",
      "endpoints: endpoints cannot be set for resolution type DYNAMIC_DNS",
      "ports[0].protocol: only HTTP, TLS, GRPC, and HTTP2 protocols are supported for resolution type DYNAMIC_DNS",
    ],
    [se({ resolution: "DYNAMIC_DNS", hosts: ["*.b"] })],
    [
      se({ hosts: ["a.b", "c.d"], addresses: ["10.0.0.1"], ports: [{ ...port, protocol: "TCP" }] }),
      "hosts: multiple hosts provided with non-HTTP, non-TLS ports",
    ],
    [se({ exportTo: ["~"] })],
    [se({ exportTo: ["~", "a"] }), "exportTo: cannot export service entry to no one and someone"],
  ]);
});

describe("WorkloadEntry", () => {
  table("WorkloadEntry", [
    [{ address: "10.0.0.1", ports: { http: 80 } }],
    [{ address: "vm.example" }],
    [{ network: "n1" }],
    [{}, "address: address is required"],
    [{ address: "a_b" }, 'address: endpoint address "a_b" is not a valid FQDN or an IP address'],
    [{ address: "unix:///s", ports: { http: 80 } }, "ports: unix endpoint unix:///s must not include ports"],
    [{ address: "unix://" }, "address: unix address must not be empty"],
    [{ address: "a", ports: { http: 0 } }, "ports.http: port number 0 must be in the range 1..65535"],
  ]);
});

describe("WorkloadGroup", () => {
  const probe = (extra: object) => ({ template: {}, probe: extra });
  const tcpSocket = { port: 1 };
  table("WorkloadGroup", [
    [{ template: {} }],
    [{}, ": template is required"],
    [{ template: { ports: { http: 0 } } }, "? template.ports.http: port number 0 must be in the range 1..65535"],
    [{ template: { labels: { a: "!" } } }, '? template.labels.a: invalid tag value: "!"'],
    [probe({ tcpSocket, periodSeconds: -1 }), "probe.periodSeconds: periodSeconds must be non-negative"],
    [probe({ tcpSocket, failureThreshold: -1 }), "probe.failureThreshold: failureThreshold must be non-negative"],
    [probe({}), "probe: unknown health check method; allowed: httpGet, tcpSocket, exec, grpc"],
    [
      probe({ httpGet: { port: 1, scheme: "ftp" } }),
      'probe.httpGet.scheme: httpGet.scheme must be one of "HTTP", "HTTPS", found "ftp"',
    ],
    [probe({ httpGet: { port: 1, httpHeaders: [{}] } }), "probe.httpGet.httpHeaders[0]: invalid nil header"],
    [
      probe({ httpGet: { port: 1, httpHeaders: [{ name: "a_b" }] } }),
      "probe.httpGet.httpHeaders[0]: header name a_b is not a valid header name",
    ],
    [probe({ exec: {} }), "probe.exec: exec.command is required"],
    [probe({ grpc: {} }), "probe.grpc.port: port number 0 must be in the range 1..65535"],
  ]);
});

describe("Sidecar", () => {
  const hosts = ["./*"];
  const ingress = (extra: object) => ({
    ingress: [{ port: { number: 80, name: "http", protocol: "HTTP" }, ...extra }],
  });
  const files = { serverCertificate: "/cert", privateKey: "/key" };
  const own = (tls: object) => ({ ingress: [{ port: { number: 443, name: "tls", protocol: "TLS" }, tls }] });
  const egress = (...listeners: object[]) => ({ egress: listeners });
  const proxy = (egressProxy: object) => ({ outboundTrafficPolicy: { mode: "ALLOW_ANY", egressProxy } });
  table("Sidecar", [
    [egress({ hosts })],
    [{}, ": sidecar: empty configuration provided"],
    [{ ingress: [{}] }, "ingress[0]: sidecar: port is required for ingress listeners"],
    [
      { ingress: [ingress({}).ingress[0], ingress({}).ingress[0]] },
      "ingress[1].port: sidecar: ports on IP bound listeners must be unique",
    ],
    [{ ingress: [ingress({ bind: "127.0.0.2" }).ingress[0], ingress({ bind: "127.0.0.3" }).ingress[0]] }],
    [ingress({ bind: "here" }), "ingress[0].bind: sidecar: bind here is not a valid IP address"],
    [
      ingress({ defaultEndpoint: "10.0.0.1:80" }),
      "ingress[0].defaultEndpoint: sidecar: defaultEndpoint must be of form 127.0.0.1:<port>, 0.0.0.0:<port>, [::1]:<port>, [::]:<port>, unix://filepath or unset",
    ],
    [
      ingress({ defaultEndpoint: "127.0.0.1:0" }),
      "ingress[0].defaultEndpoint: port number 0 must be in the range 1..65535",
    ],
    [
      ingress({ tls: { mode: "PASSTHROUGH" } }),
      "ingress[0].tls: server cannot have TLS settings for non HTTPS/TLS ports",
    ],
    [
      own({ mode: "SIMPLE", caCrl: "/crl" }),
      "ingress[0].tls.caCrl: CRL is not supported with SIMPLE TLS",
      "ingress[0].tls.serverCertificate: SIMPLE TLS requires a server certificate",
      "ingress[0].tls.privateKey: SIMPLE TLS requires a private key",
    ],
    [own({ mode: "MUTUAL", ...files }), "ingress[0].tls.caCertificates: MUTUAL TLS requires a client CA bundle"],
    [own({ mode: "OPTIONAL_MUTUAL", ...files, caCertificates: "/ca" })],
    [
      own({ mode: "ISTIO_MUTUAL" }),
      "ingress[0].tls.mode: configuration is invalid: cannot set mode to ISTIO_MUTUAL in sidecar ingress tls",
    ],
    [
      own({ mode: "SIMPLE", ...files, subjectAltNames: ["a"], httpsRedirect: true }),
      "ingress[0].tls.subjectAltNames: sidecar: subjectAltNames is not supported in ingress tls",
      "ingress[0].tls.httpsRedirect: sidecar: httpsRedirect is not supported",
    ],
    [
      own({ mode: "SIMPLE", credentialName: "c", credentialNames: ["d"], tlsCertificates: [{}] }),
      "ingress[0].tls.credentialName: sidecar: credentialName is not currently supported",
      "ingress[0].tls.credentialNames: sidecar: credentialNames is not currently supported",
      "ingress[0].tls.tlsCertificates: sidecar: tls_certificates is not currently supported",
    ],
    [
      { ingress: [{ port: { number: 80, name: "http", protocol: "HTTP", targetPort: 81 } }] },
      "ingress[0].port.targetPort: targetPort has no impact on Sidecars",
    ],
    [
      egress({ hosts, port: { number: 80, targetPort: 81 } }),
      "egress[0].port.targetPort: targetPort has no impact on Sidecars",
    ],
    [ingress({ connectionPool: {} }), "ingress[0].connectionPool: connection pool must have at least one field"],
    [egress({}), "egress[0].hosts: sidecar: egress listener must contain at least one host"],
    [
      egress({ hosts }, { hosts }),
      "egress[0]: sidecar: the egress listener with empty port should be the last listener in the list",
    ],
    [
      egress({ hosts, port: { number: 80 } }, { hosts, port: { number: 80 } }),
      "egress[1].port: sidecar: ports on IP bound listeners must be unique",
    ],
    [
      egress({ hosts, port: { number: 0 } }),
      "egress[0].bind: sidecar: bind must be a unix domain socket (unix://path) when port is 0",
    ],
    [
      egress({ hosts, port: {}, bind: "unix:///s", captureMode: "IPTABLES" }),
      "egress[0].captureMode: sidecar: captureMode must be DEFAULT/NONE for unix domain socket listeners",
    ],
    [
      egress({ hosts, port: {}, bind: "unix:///s" }, { hosts, port: {}, bind: "unix:///s" }),
      "egress[1].bind: sidecar: unix domain socket values for listeners must be unique",
    ],
    [egress({ hosts: ["web"] }), 'egress[0].hosts[0]: host must be of form namespace/dnsName, found "web"'],
    [egress({ hosts: ["/a.b"] }), "egress[0].hosts[0]: config namespace and dnsName in host entry cannot be empty"],
    [egress({ hosts: ["a_b/*"] }), 'egress[0].hosts[0]: invalid namespace value "a_b" in sidecar'],
    [egress({ hosts: ["./web"] }), 'egress[0].hosts[0]: short names (non FQDN) are not allowed, found "web"'],
    [
      { outboundTrafficPolicy: { egressProxy: { host: "p", port: { number: 80 } } } },
      "outboundTrafficPolicy: sidecar: egress_proxy must be set only with ALLOW_ANY outbound_traffic_policy mode",
    ],
    [proxy({ host: "p", port: { number: 80 } })],
    [proxy({ host: "p" }), "outboundTrafficPolicy.egressProxy.port: sidecar: egress_proxy port must be non-nil"],
    [
      proxy({ host: "*.p", port: { number: 80 } }),
      'outboundTrafficPolicy.egressProxy.host: domain name "*.p" invalid (label "*" invalid)',
    ],
  ]);
});

describe("PeerAuthentication", () => {
  const portLevelMtls = { 80: { mode: "STRICT" } };
  const selector = { matchLabels: { app: "a" } };
  table("PeerAuthentication", [
    [{ selector, portLevelMtls }],
    [{ portLevelMtls }, "portLevelMtls: mesh/namespace peer authentication cannot have port level mTLS"],
    [{ selector, portLevelMtls: {} }, "portLevelMtls: port level mTLS, if defined, must have at least one element"],
    [{ selector, portLevelMtls: { 70000: {} } }, "portLevelMtls.70000: port must be in range 1..65535, found 70000"],
    [{ mtls: { mode: "MAYBE" } }, 'mtls.mode: unknown value "MAYBE"; allowed: UNSET, DISABLE, PERMISSIVE, STRICT'],
  ]);
});

test("everything wrong with an object is reported at once", () => {
  const spec = {
    hosts: ["a_b"],
    http: [{ timeout: "0s", route: [{ weight: -1 }] }, { redirect: {} }],
    exportTo: ["*", "x"],
  };
  expect(problemsOf("VirtualService", spec).filter((line) => !line.startsWith("?"))).toHaveLength(6);
});

test("a ProxyConfig of a file warns that it has no effect", () => {
  expect(problemsOf("ProxyConfig", {})).toEqual([
    expect.stringMatching(/^\? : ProxyConfig has no effect here: it is used when pods of a cluster are injected/),
  ]);
});

test("random specs of every kind give an object or errors with a place, and never throw", () => {
  const names = Object.values(KINDS).flatMap(({ spec }) => [...istioMessage(spec).byName.keys()]);
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom("1s", "10.0.0.1", "*", "a.b"),
  );
  const key = fc.oneof(
    fc.constantFrom(...names, "host", "number", "port", "destination", "regex", "name"),
    fc.string(),
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 6 }, leaf, tie("object"), fc.array(tie("any"), { maxLength: 3 })),
    object: fc.dictionary(key, tie("any"), { maxKeys: 5 }),
  }));
  const kinds = Object.keys(KINDS).filter(isKind);
  fc.assert(
    fc.property(fc.constantFrom(...kinds), value.object, (kind, spec) => {
      const { group, versions } = KINDS[kind];
      const document = { apiVersion: `${group}/${versions[0]}`, kind, metadata: { name: "x" }, spec };
      const { object, problems } = decodeObject(document, { defaultNamespace: "default" });
      expect(object === undefined).toBe(problems.some(({ severity }) => severity === "error"));
      for (const { path } of problems) expect(path[0]).toBe("spec");
    }),
    { numRuns: 500 },
  );
});

const many = <T>(count: number, item: (index: number) => T) => Array.from({ length: count }, (_, index) => item(index));
const host = (index: number) => `h${index}.example`;
const distribute = (count: number, locality: (index: number) => string) => ({
  host: "web",
  trafficPolicy: {
    outlierDetection: {},
    loadBalancer: {
      localityLbSetting: { distribute: many(count, (index) => ({ from: locality(index), to: { r: 100 } })) },
    },
  },
});

/** What whoever may write one rule can send to the webhook, which answers in the thread that serves. */
const LARGE: readonly { readonly name: string; readonly kind: Kind; readonly spec: (n: number) => unknown }[] = [
  { name: "hosts", kind: "VirtualService", spec: (n) => http({ route: to }, { hosts: many(n, host) }) },
  {
    name: "wildcards",
    kind: "VirtualService",
    spec: (n) => http({ route: to }, { hosts: many(n, (index) => `*.${host(index)}`) }),
  },
  {
    name: "server names",
    kind: "VirtualService",
    spec: (n) => ({ hosts: many(n, host), tls: [{ match: [{ sniHosts: many(n, host) }], route: to }] }),
  },
  {
    name: "server names that no host covers",
    kind: "VirtualService",
    spec: (n) => ({
      hosts: many(n, host),
      tls: [{ match: [{ sniHosts: many(n, (index) => `x${index}.other`) }], route: to }],
    }),
  },
  {
    name: "ports of an endpoint",
    kind: "ServiceEntry",
    spec: (n) => ({
      hosts: ["a.example"],
      resolution: "STATIC",
      ports: many(n, (index) => ({ number: index + 1, name: `p${index}`, protocol: "TCP" })),
      endpoints: [{ address: "10.0.0.1", ports: Object.fromEntries(many(n, (index) => [`p${index}`, 80])) }],
    }),
  },
  { name: "regions", kind: "DestinationRule", spec: (n) => distribute(n, (index) => `r${index}`) },
  { name: "zones of a region", kind: "DestinationRule", spec: (n) => distribute(n, (index) => `r/z${index}`) },
];

test.each(LARGE)("many $name: the time grows as the object does", ({ kind, spec }) => {
  expect(growthFactor((count) => void problemsOf(kind, spec(count)), 1500)).toBeLessThan(BELOW_SQUARE);
});
