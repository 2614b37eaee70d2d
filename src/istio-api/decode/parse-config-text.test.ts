import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { decodeObject } from "./decode-object.ts";
import { describeDocumentProblem, parseConfigText } from "./parse-config-text.ts";

const entry = (name: string) => `apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: ${name}, namespace: prod}
spec: {address: 10.0.0.1}`;

const lines = (text: string) => parseConfigText(text, { file: "f.yaml" }).problems.map(describeDocumentProblem);
const names = (text: string) => parseConfigText(text).objects.map(({ namespace, name }) => `${namespace}/${name}`);

test("every document of a text is an object with metadata and a typed spec", () => {
  const { objects, problems } = parseConfigText(`---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata:
  name: web
  labels: {team: a}
  annotations: {note: b}
  creationTimestamp: "2026-08-22T20:00:00Z"
spec: {host: web, traffic_policy: {connection_pool: {http: {http2_max_requests: 3}}}}
---
# only a comment
---
${entry("two")}
`);
  expect(problems).toEqual([]);
  expect(objects[0]).toMatchObject({
    kind: "DestinationRule",
    namespace: "default",
    name: "web",
    labels: { team: "a" },
    annotations: { note: "b" },
    creationTime: Date.parse("2026-08-22T20:00:00Z"),
    spec: { host: "web", trafficPolicy: { connectionPool: { http: { http2MaxRequests: 3 } } }, subsets: [] },
  });
  expect(objects[1]).toMatchObject({
    kind: "WorkloadEntry",
    namespace: "prod",
    spec: { address: "10.0.0.1", weight: 0 },
  });
});

test("objects are frozen all the way down", () => {
  const [object] = parseConfigText(entry("a")).objects;
  expect(Object.isFrozen(object?.spec)).toBe(true);
  expect(Object.isFrozen(object?.source.metadata)).toBe(true);
});

test("JSON is YAML, and YAML 1.1 booleans are text", () => {
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: "a" },
    spec: { host: "a" },
  };
  expect(names(JSON.stringify(object))).toEqual(["default/a"]);
  const { objects } = parseConfigText(
    `${JSON.stringify(object).slice(0, -2)}, subsets: [{name: y, labels: {on: off}}]}}`,
  );
  expect(objects[0]?.spec).toMatchObject({ subsets: [{ name: "y", labels: { on: "off" } }] });
});

test.each([
  {
    given: "apiVersion: v1\nkind: Service",
    says: "v1 Service is not a kind that is read: .* a ServiceEntry describes",
  },
  {
    given: "apiVersion: apps/v1\nkind: Deployment",
    says: "apps/v1 Deployment is not a kind that is read: it has no effect",
  },
  {
    given: "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute",
    says: "HTTPRoute .* the Gateway API is not served",
  },
  {
    given: "apiVersion: extensions.istio.io/v1alpha1\nkind: TrafficExtension",
    says: "TrafficExtension .* a WasmPlugin",
  },
])("a kind that is not read says so, with its line: $given", ({ given, says }) => {
  const { objects, problems } = parseConfigText(`# first\n${given}\nmetadata: {name: x}\n`, { file: "f.yaml" });
  expect(objects).toEqual([]);
  expect(problems.map(describeDocumentProblem)).toEqual([
    expect.stringMatching(new RegExp(`^f\\.yaml:3:\\d+: warning: kind: .*${says}`)),
  ]);
});

test.each([
  {
    what: "a member",
    spec: { host: "a", trafficPolicy: { outlierDetection: { outlierDetectionHttpErrorCodes: [404] } } },
    says: /^f\.yaml:\d+:\d+: warning: spec\.trafficPolicy\.outlierDetection\.outlierDetectionHttpErrorCodes: has no effect: .* \(DestinationRule default\/x\)$/,
  },
  {
    what: "nothing at its zero value",
    spec: { host: "a", trafficPolicy: { outlierDetection: { outlierDetectionHttpErrorCodes: [], interval: "5s" } } },
  },
])("$what that does nothing is said, and the object is taken", ({ spec, says }) => {
  const text = JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: "x" },
    spec,
  });
  const { objects, problems } = parseConfigText(text, { file: "f.yaml" });
  expect(objects).toHaveLength(1);
  expect(problems.map(describeDocumentProblem)).toEqual(says === undefined ? [] : [expect.stringMatching(says)]);
});

describe("one bad document is reported with file, line and reason, and blocks nothing else", () => {
  const good = entry("good");
  test.each([
    { bad: "a: [1, 2", says: /^f\.yaml:\d:\d+: error: YAML: Flow sequence/ },
    { bad: 'kind: "WorkloadEntry', says: /^f\.yaml:\d:\d+: error: YAML: Missing closing "quote/ },
    { bad: "a: b: c", says: /^f\.yaml:2:\d+: error: YAML: / },
    { bad: "\ta: b", says: /^f\.yaml:2:\d+: error: YAML: / },
    { bad: "a: 1\na: 2", says: /^f\.yaml:3:1: error: YAML: Map keys must be unique/ },
    { bad: "a: *nobody", says: /^f\.yaml:2:\d+: error: YAML: .*nobody/ },
    { bad: "just text", says: /^f\.yaml:2:1: error: expected an object with apiVersion, kind, metadata and spec/ },
    { bad: "spec: {}", says: /^f\.yaml:2:1: error: kind is missing/ },
    { bad: "kind: {toString: x}", says: /^f\.yaml:2:1: error: kind: expected text, found an object/ },
    { bad: "kind: 5", says: /^f\.yaml:2:1: error: kind: expected text, found number 5/ },
    {
      bad: entry("a").replace("networking.istio.io/v1", "{toString: x}"),
      says: /^f\.yaml:2:1: error: apiVersion: apiVersion {"toString":"x"} is unknown; allowed for WorkloadEntry: /,
    },
    {
      bad: "kind: WorkloadEntry\nmetadata: {name: a}\nspec: {address: 1.2.3.4}",
      says: /^f\.yaml:2:1: error: apiVersion: apiVersion is missing; allowed for WorkloadEntry: networking\.istio\.io\/v1,/,
    },
    {
      bad: entry("a").replace("io/v1", "io/v9"),
      says: /^f\.yaml:2:1: error: apiVersion: apiVersion "networking.istio.io\/v9" is unknown/,
    },
    { bad: entry("A_b"), says: /^f\.yaml:4:12: error: metadata\.name: name "A_b" is invalid/ },
    { bad: entry("''"), says: /^f\.yaml:4:12: error: metadata\.name: name is missing/ },
    {
      bad: entry("a").replace("prod", "p/q"),
      says: /^f\.yaml:4:21: error: metadata\.namespace: namespace "p\/q" is invalid/,
    },
    {
      bad: entry("a").replace("10.0.0.1", "5"),
      says: /^f\.yaml:5:8: error: spec\.address: expected text, found number 5; put it in quotes \(WorkloadEntry prod\/a\)/,
    },
    {
      bad: entry("a").replace("10.0.0.1", "a_b"),
      says: /^f\.yaml:5:8: error: spec\.address: endpoint address "a_b" is not a valid FQDN or an IP address/,
    },
    {
      bad: entry("a").replace("{name: a,", "{name: a, creationTimestamp: soon,"),
      says: /creationTimestamp: "soon" is not a time/,
    },
  ])("$says", ({ bad, says }) => {
    for (const text of [`---\n${bad}\n---\n${good}`, `---\n${bad}\n---\n${good}\n---\n${bad}`]) {
      expect(lines(text)[0]).toMatch(says);
      expect(names(text)).toEqual(["prod/good"]);
    }
  });
});

test("lines count from the start of the file, also behind other documents", () => {
  const text = `# head\n${entry("a")}\n---\n\n${entry("b").replace("address", "adress")}`;
  expect(lines(text)[0]).toBe(
    'f.yaml:11:8: warning: spec.adress: unknown field "adress" in workload entry, it is ignored (WorkloadEntry prod/b)',
  );
});

test("an alias bomb and a bottomless nesting are refused quickly", () => {
  const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"])
    bomb.push(`${to}: &${to} [${`*${from}, `.repeat(9)}]`);
  expect(lines(bomb.join("\n"))).toEqual([
    "f.yaml:5:8: error: YAML: aliases repeat too much: 15670 values, at most 10020 are allowed here",
  ]);
  expect(lines(`a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`)[0]).toMatch(/nested too deeply/);
});

test("an object with 5,000 endpoints is read", () => {
  const endpoints = Array.from({ length: 5000 }, (_, index) => `  - {address: 10.1.${index >> 8}.${index & 255}}`);
  const { objects, problems } = parseConfigText(
    `apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: big}\nspec:\n  hosts: [big.example]\n  resolution: STATIC\n  ports: [{number: 80, name: http, protocol: HTTP}]\n  endpoints:\n${endpoints.join("\n")}`,
  );
  expect(problems).toEqual([]);
  expect(objects[0]?.kind === "ServiceEntry" && objects[0].spec.endpoints).toHaveLength(5000);
});

test("directives belong to the document behind them", () => {
  expect(names(`%YAML 1.2\n---\n${entry("a")}\n...\n%YAML 1.2\n---\n${entry("b")}`)).toEqual(["prod/a", "prod/b"]);
});

test("splitting loses no line and keeps the line numbers", () => {
  const line = fc.constantFrom("---", "--- # x", "a: 1", "  ---", "# c", "", "...", "|", "'");
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (all) => {
      for (const { text, linesBefore } of splitDocuments(all.join("\n"))) {
        expect(text.split("\n")).toEqual(all.slice(linesBefore, linesBefore + text.split("\n").length));
      }
    }),
  );
});

test("random text gives objects or problems and never throws", () => {
  const word = fc.constantFrom(
    "kind: ",
    "WorkloadEntry\n",
    "spec:\n",
    "  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    '"',
    "&a ",
    "*a ",
    "<<: ",
    "---\n",
    ": ",
    "\n",
    "!!x ",
    "| ",
    "? ",
    "%",
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(word, fc.string({ maxLength: 5 })), { maxLength: 30 }), (words) => {
      for (const problem of parseConfigText(words.join("")).problems) {
        expect(problem.line).toBeGreaterThan(0);
        expect(problem.message).not.toBe("");
      }
    }),
    { numRuns: 500 },
  );
});

test("paths quote names that are not words", () => {
  expect(formatPath(["spec", "http", 0, "headers", "x-a"])).toBe("spec.http[0].headers.x-a");
  expect(formatPath(["spec", "labels", "a.b/c"])).toBe('spec.labels["a.b/c"]');
});

test("an object with more mistakes than a call takes arguments is refused with each of them", () => {
  const hosts = Array.from({ length: 200_000 }, (_, index) => `_${index}`);
  const data = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "x" } };
  const { problems } = decodeObject({ ...data, spec: { hosts, http: [] } }, { defaultNamespace: "ns" });
  expect(problems.length).toBeGreaterThanOrEqual(hosts.length);
});
