import fc from "fast-check";

/** HTTP parts of VirtualServices as users might write them: every member, and many values at the edge of what is allowed. */
export function arbitraryHttpRoutes(): fc.Arbitrary<readonly object[]> {
  return fc.array(httpRoute, { minLength: 1, maxLength: 5 });
}

const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const word = fc.constantFrom("a", "x-user", "cookie", "X-Upper", "accept", "host", ":authority", "user_agent");
const path = fc.constantFrom("/", "/a", "/a/", "/A%20b", "a", "/a?b=c#d", "/%", "/ä");
const value = fc.oneof(
  fc.constantFrom(
    "",
    "1",
    "%",
    "100%",
    "%REQ(x-a)%",
    "%REQ()%",
    "%NOTHING%",
    "%DOWNSTREAM_REMOTE_ADDRESS%",
    "a b",
    "*",
  ),
  fc.string({ maxLength: 12 }),
);
const regex = fc.constantFrom(
  "*",
  ".*",
  "[0-9]+",
  "^(.*?;)?(user=jane)(;.*)?$",
  "a{1,1000}",
  "(a{1,30}){1,30}",
  "(a{500}){500}",
  "\\p{Greek}{1,900}",
  "((a{100}){10}|b){100}",
  "(?i)x",
  "\\d+",
  "",
  "(?P<n>a)",
);
const stringMatch = fc.oneof(
  fc.constant({}),
  fc.record({ exact: value }),
  fc.record({ prefix: value }),
  fc.record({ regex }),
);
const pathMatch = fc.oneof(
  fc.constant({}),
  fc.record({ exact: path }),
  fc.record({ prefix: path }),
  fc.record({ regex }),
);
const matches = fc.dictionary(word, stringMatch, { maxKeys: 3 });
const duration = fc.constantFrom("0.001s", "0.5s", "1s", "3600s", "86400s");
const percentage = fc.record({ value: fc.constantFrom(0, 0.0001, 0.29, 1, 33.3333, 99.9999, 100) });
const percent = fc.constantFrom(0, 1, 50, 100);

const httpMatch = compact({
  name: maybe(fc.constantFrom("m", "m.n")),
  uri: maybe(pathMatch),
  scheme: maybe(stringMatch),
  method: maybe(stringMatch),
  authority: maybe(stringMatch),
  headers: maybe(matches),
  withoutHeaders: maybe(matches),
  queryParams: maybe(fc.dictionary(fc.constantFrom("q", "a b", "ä"), stringMatch, { maxKeys: 2 })),
  port: maybe(fc.constantFrom(8080, 80)),
  sourceLabels: maybe(fc.constantFrom({ app: "client" }, { app: "other" })),
  sourceNamespace: maybe(fc.constantFrom("default", "prod")),
  gateways: maybe(fc.constantFrom(["mesh"], ["edge"])),
  ignoreUriCase: maybe(fc.boolean()),
  statPrefix: maybe(fc.constant("stat")),
});

const operations = compact({
  set: maybe(fc.dictionary(word, value, { maxKeys: 2 })),
  add: maybe(fc.dictionary(word, value, { maxKeys: 2 })),
  remove: maybe(fc.array(word, { maxLength: 2 })),
});
const headers = compact({ request: maybe(operations), response: maybe(operations) });
const destination = compact({
  host: fc.constantFrom("web", "unknown", "other.example"),
  subset: maybe(fc.constantFrom("v1", "gone")),
  port: maybe(fc.record({ number: fc.constantFrom(1, 8080, 65535) })),
});
const weighted = compact({ destination, weight: fc.constantFrom(0, 1, 99, 2 ** 31 - 1), headers: maybe(headers) });

const redirect = compact({
  uri: maybe(path),
  authority: maybe(fc.constantFrom("b.example", "b.example:81")),
  scheme: maybe(fc.constantFrom("http", "https")),
  port: maybe(fc.constantFrom(1, 80, 443, 65535)),
  redirectCode: maybe(fc.constantFrom(301, 302, 303, 304, 307, 308)),
});
const directResponse = compact({
  status: fc.constantFrom(200, 204, 404, 599, 600),
  body: maybe(fc.oneof(fc.record({ string: value }), fc.record({ bytes: fc.constantFrom("", "aGk=", "_-8=") }))),
});
const rewrite = compact({
  uri: maybe(path),
  authority: maybe(fc.constantFrom("r.example", "a b")),
  uriRegexRewrite: maybe(fc.record({ match: regex, rewrite: fc.constantFrom("/\\1", "/x", "\\0", "\\9") })),
});
const retries = compact({
  attempts: fc.constantFrom(0, 1, 5, 2 ** 31 - 1),
  perTryTimeout: maybe(duration),
  retryOn: maybe(
    fc.constantFrom("5xx", "503", "reset,429,cancelled", "retriable-status-codes,500", "reset-before-request"),
  ),
  backoff: maybe(duration),
  retryRemoteLocalities: maybe(fc.boolean()),
  retryIgnorePreviousHosts: maybe(fc.boolean()),
});
const fault = compact({
  delay: maybe(compact({ fixedDelay: maybe(duration), percentage: maybe(percentage), percent: maybe(percent) })),
  abort: maybe(
    fc.oneof(
      compact({ httpStatus: fc.constantFrom(200, 503, 599), percentage: maybe(percentage) }),
      compact({ grpcStatus: fc.constantFrom("OK", "UNAVAILABLE", "UNAUTHENTICATED"), percentage: maybe(percentage) }),
    ),
  ),
});
const corsPolicy = compact({
  allowOrigins: maybe(fc.array(stringMatch, { maxLength: 2 })),
  allowOrigin: maybe(fc.array(fc.constantFrom("*", "https://a.example"), { maxLength: 2 })),
  allowMethods: maybe(fc.constantFrom(["GET"], ["*"], ["GET", "POST"])),
  allowHeaders: maybe(fc.constantFrom(["x-a"], ["*"])),
  exposeHeaders: maybe(fc.constantFrom(["x-b", "x-c"])),
  maxAge: maybe(fc.constantFrom("0s", "60s")),
  allowCredentials: maybe(fc.boolean()),
  unmatchedPreflights: maybe(fc.constantFrom("FORWARD", "IGNORE")),
});

const httpRoute = fc.oneof(
  { weight: 4, arbitrary: forward() },
  { weight: 1, arbitrary: compact({ ...common(), redirect }) },
  { weight: 1, arbitrary: compact({ ...common(), directResponse }) },
);

function forward(): fc.Arbitrary<object> {
  return compact({
    ...common(),
    route: fc.array(weighted, { minLength: 1, maxLength: 3 }),
    rewrite: maybe(rewrite),
    timeout: maybe(duration),
    retries: maybe(retries),
    fault: maybe(fault),
    mirror: maybe(destination),
    mirrorPercentage: maybe(percentage),
    mirrorPercent: maybe(percent),
    mirrors: maybe(fc.array(compact({ destination, percentage: maybe(percentage) }), { maxLength: 2 })),
  });
}

function common() {
  return {
    name: maybe(fc.constantFrom("r", "r.s")),
    match: maybe(fc.array(httpMatch, { maxLength: 3 })),
    headers: maybe(headers),
    corsPolicy: maybe(corsPolicy),
  };
}

/** Members that are undefined are not there. */
function compact(members: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> {
  return fc
    .record(members)
    .map((object) => Object.fromEntries(Object.entries(object).filter(([, member]) => member !== undefined)));
}
