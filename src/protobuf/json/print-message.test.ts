import fc from "fast-check";
import { expect, test } from "vitest";
import { parseYaml } from "../../files/yaml/parse-yaml.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import { applyProxyConfig, proxyConfigTable } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import { defaultProxyConfig } from "../../istio-api/proxy-config/default-proxy-config.ts";
import { generationRules } from "../../settings/generations.ts";
import { printMessage } from "./print-message.ts";

const master = generationRules("master");

test("the defaults print as sorted camelCase YAML without zero values", () => {
  expect(printMessage(proxyConfigTable(), defaultProxyConfig(master))).toBe(
    `binaryPath: /usr/local/bin/envoy
configPath: ./etc/istio/proxy
controlPlaneAuthPolicy: MUTUAL_TLS
discoveryAddress: istiod.istio-system.svc:15012
drainDuration: 45s
proxyAdminPort: 15000
serviceCluster: istio-proxy
statNameLength: 189
statusPort: 15020
terminationDrainDuration: 5s
`,
  );
});

test("explicit wrapper zeros, empty messages and oneof members stay, other zeros go", () => {
  const { config } = applyProxyConfig(
    {},
    {
      concurrency: 0,
      serviceCluster: "",
      tracing: { zipkin: {}, sampling: 0, customTags: {} },
      statusPort: 0,
      meshId: "",
      controlPlaneAuthPolicy: "NONE",
      extraStatTags: [],
      statsCompression: false,
      drainDuration: "0s",
      proxyMetadata: { B: "yes", A: "" },
      caCertificatesPem: ["a: b", "l1\nl2\n"],
    },
    master,
  );
  expect(printMessage(proxyConfigTable(), config)).toBe(
    `caCertificatesPem:
- 'a: b'
- |
  l1
  l2
concurrency: 0
drainDuration: 0s
proxyMetadata:
  A: ""
  B: "yes"
serviceCluster: ""
statsCompression: false
tracing:
  zipkin: {}
`,
  );
});

test.each([
  { value: "plain", prints: "plain" },
  { value: "with space", prints: "with space" },
  { value: "a:1", prints: "a:1" },
  { value: "[::1]:15012", prints: "'[::1]:15012'" },
  { value: "::1", prints: "::1" },
  { value: "yes", prints: '"yes"' },
  { value: "n", prints: '"n"' },
  { value: "null", prints: '"null"' },
  { value: "", prints: '""' },
  { value: "123", prints: '"123"' },
  { value: "0x1f", prints: '"0x1f"' },
  { value: "1.5", prints: '"1.5"' },
  { value: "1e3", prints: '"1e3"' },
  { value: "1:30", prints: '"1:30"' },
  { value: "2020-01-01", prints: '"2020-01-01"' },
  { value: "it's", prints: "it's" },
  { value: "'quoted'", prints: "'''quoted'''" },
  { value: "# no", prints: "'# no'" },
  { value: "a #b", prints: "'a #b'" },
  { value: "a#b", prints: "a#b" },
  { value: "- a", prints: "'- a'" },
  { value: "-a", prints: "-a" },
  { value: "a: b", prints: "'a: b'" },
  { value: " a", prints: "' a'" },
  { value: "*", prints: "'*'" },
  { value: "a\u0007", prints: '"a\\a"' },
  { value: "tab\t", prints: '"tab\\t"' },
  { value: 'q"\t\\', prints: '"q\\"\\t\\\\"' },
  { value: "a\tb\nc", prints: '"a\\tb\\nc"' },
  { value: "a \nb", prints: '"a \\nb"' },
  { value: "\n ", prints: '"\\n "' },
  { value: "😀 é", prints: '"\\U0001F600 é"' },
  { value: "e1", prints: "e1" },
  { value: "-", prints: "'-'" },
  { value: "$(HOST_IP):80", prints: "$(HOST_IP):80" },
  { value: "/dev/stdout", prints: "/dev/stdout" },
])("$value prints as $prints", ({ value, prints }) => {
  expect(printYaml({ k: value })).toBe(`k: ${prints}\n`);
});

test("what is printed reads back as the same data", async () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("a\nb", "a\n", " a\nb\n\n", "\n", "y", "0", "~", "a:", "--- x", "'"),
    fc.stringMatching(/^[-:#'"0-9a-z ]*$/),
    fc.stringMatching(/^[-+.eE0-9_\t\n \\"]*$/),
    fc.string({ unit: "binary" }),
  );
  const data = fc.dictionary(
    fc.stringMatching(/^[a-zA-Z_.]{1,8}$/),
    fc.oneof(text, fc.boolean(), fc.integer(), fc.array(text), fc.dictionary(fc.stringMatching(/^[a-z]{1,4}x$/), text)),
  );
  await fc.assert(
    fc.asyncProperty(data, async (value) => {
      // A printer that quotes too little would change a type or break the document.
      expect(await parseYaml(printYaml(value))).toEqual(Object.keys(value).length === 0 ? {} : value);
    }),
    { numRuns: 300 },
  );
});
