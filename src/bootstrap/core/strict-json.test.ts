import fc from "fast-check";
import { expect, test } from "vitest";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { quoteGo } from "../../base/go-quote.ts";
import { BootstrapError } from "../bootstrap-error.ts";
import { generateBootstrap } from "./generate-bootstrap.ts";
import type { BOOTSTRAP_RULES } from "./generations.ts";
import { buildGrpcBootstrap } from "./grpc-bootstrap.ts";
import { toStrictJson } from "./json.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";

/** Text as it may come from a label: quotes, control characters, half surrogates, template syntax, anything. */
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary-ascii" }),
  fc.constantFrom(
    '"',
    "\\",
    "\u0000",
    "\u2028",
    "{{.}}",
    "</script>",
    "\ud800",
    "a\udc00b",
    '","x":"',
    "__proto__",
    "[",
    "}",
  ),
);
const dictionary = fc.dictionary(text, text, { maxKeys: 5 });
const generation = fc.constantFrom<keyof typeof BOOTSTRAP_RULES>("master", "1.20", "1.8", "1.7", "1.6");

test("whatever stands in labels, annotations, variables and configuration, the document is strict JSON that holds it", () => {
  fc.assert(
    fc.property(generation, dictionary, dictionary, dictionary, text, (name, labels, annotations, metadata, free) => {
      const file = (entries: Record<string, string>) =>
        Object.entries(entries)
          .map(([key, value]) => `${key.replaceAll(/[=\n]/g, "-")}=${quoteGo(value)}\n`)
          .join("");
      const inputs = sidecarInputs({
        generation: name,
        nodeId: `sidecar~10.0.0.1~${free}~x`,
        env: { POD_NAME: free, ISTIO_METAJSON_X: JSON.stringify(metadata), ISTIO_META_FREE: free },
        podLabels: file(labels),
        podAnnotations: file(annotations),
        agent: { outlierLogPath: free, workloadIdentitySocketFile: free, version: free },
        proxyConfig: {
          configPath: `/tmp/${free}`,
          serviceCluster: free,
          extraStatTags: [free],
          runtimeValues: { [free]: free },
        },
      });
      const node = buildNodeDescriptor(inputs);
      const { text: written } = generateBootstrap(inputs, node);
      expect(written).not.toMatch(/\p{Surrogate}/u);
      expect(escapesOf(written)).not.toMatch(/\\ud[89a-f]/i);
      const document = JSON.parse(written);
      expect(document.node.metadata.FREE).toBe(wellFormed(free));
      expect(document.node.id).toBe(`sidecar~10.0.0.1~${wellFormed(free)}~x`);
      JSON.parse(buildGrpcBootstrap(inputs, node, free));
    }),
    { numRuns: 300 },
  );
});

test("any environment gives a node or a coded error", () => {
  const name = fc.oneof(
    fc.constantFrom(
      "ISTIO_META_DNS_CAPTURE",
      "ISTIO_META_POD_PORTS",
      "ISTIO_META_LABELS",
      "ISTIO_METAJSON_LABELS",
      "ISTIO_METAJSON_A",
      "ISTIO_META_LOAD_STATS_CONFIG_JSON",
      "POD_NAMESPACE",
    ),
    text.map((suffix) => `ISTIO_META_${suffix}`),
  );
  const value = fc.oneof(
    text,
    fc.json(),
    fc.constantFrom('{"LABELS":1}', '{"ANNOTATIONS":{"a":1}}', '{"PILOT_SAN":[1]}', "[{}]", "true"),
  );
  fc.assert(
    fc.property(fc.dictionary(name, value, { maxKeys: 6 }), fc.option(text), (env, labels) => {
      try {
        const inputs = sidecarInputs({ env, podLabels: labels, podAnnotations: labels });
        JSON.parse(generateBootstrap(inputs, buildNodeDescriptor(inputs)).text);
      } catch (failure) {
        expect(failure).toBeInstanceOf(BootstrapError);
      }
    }),
    { numRuns: 500 },
  );
});

test("half a surrogate pair becomes the replacement character, in keys and values, at every depth", () => {
  expect(toStrictJson({ "a\ud800": ["\udfff", { b: "ok😀" }] })).toBe('{"a\ufffd":["\ufffd",{"b":"ok😀"}]}');
  expect(toStrictJson("\\ud800 is only text")).toBe('"\\\\ud800 is only text"');
});

function wellFormed(value: string): string {
  return value.replaceAll(/\p{Surrogate}/gu, "\ufffd");
}

/** The text without escaped backslashes, so that what is left of `\u` is an escape. */
function escapesOf(value: string): string {
  return value.replaceAll("\\\\", "");
}
