import { describe, expect, test } from "vitest";
import type { InputOverrides } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { generateBootstrap } from "./generate-bootstrap.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";
import { templateRenderer } from "./template-renderer.ts";

const describeNode = (overrides: InputOverrides = {}) => buildNodeDescriptor(sidecarInputs(overrides));
const metadata = (overrides: InputOverrides = {}) => describeNode(overrides).metadata;

describe("raw metadata", () => {
  test("ISTIO_META_ variables become keys, others do not", () => {
    const env = { ISTIO_META_foo: "a=b", NOT_AN_ISTIO_META_bar: "x", ISTIO_META_: "empty" };
    expect(metadata({ env })).toMatchObject({ foo: "a=b", "": "empty" });
    expect(metadata({ env })).not.toHaveProperty("bar");
  });

  test("the environment beats proxyMetadata, of which only ISTIO_META_ keys count", () => {
    const proxyMetadata = { ISTIO_META_A: "config", ISTIO_META_B: "config", OTHER: "x" };
    expect(metadata({ env: { ISTIO_META_A: "env" }, proxyConfig: { proxyMetadata } })).toMatchObject({
      A: "env",
      B: "config",
    });
  });

  test("ISTIO_METAJSON_ objects are merged at the top level, regardless of the variable's name", () => {
    const env = { ISTIO_METAJSON_X: '{"a":1,"b":{"c":[true]}}', ISTIO_METAJSON_NULL: "null" };
    expect(metadata({ env })).toMatchObject({ a: 1, b: { c: [true] } });
  });

  test("integers of 64 bits reach the document and the template's copy of it as they were written", () => {
    const numbers =
      '{"most":9223372036854775807,"deep":[{"least":-9223372036854775808}],"unsigned":18446744073709551615}';
    const inputs = sidecarInputs({ env: { ISTIO_METAJSON_X: numbers, ISTIO_META_Y: "1" } });
    const { text } = generateBootstrap(inputs, buildNodeDescriptor(inputs));
    const copy = generateBootstrap(inputs, buildNodeDescriptor(inputs), templateRenderer("{{.meta_json_str}}")).text;
    for (const part of ['"most":9223372036854775807', '[{"least":-9223372036854775808}]', ":18446744073709551615"]) {
      expect(text).toContain(part);
      expect(copy).toContain(part);
    }
  });

  test.each([
    { value: "{", warning: "Env variable X [{] failed json unmarshal: unexpected end of JSON input" },
    { value: '{"a":"b', warning: 'Env variable X [{"a":"b] failed json unmarshal: unexpected end of JSON input' },
    {
      value: '{"a":}',
      warning: `Env variable X [{"a":}] failed json unmarshal: invalid character '}' looking for beginning of value`,
    },
    {
      value: "[1]",
      warning:
        "Env variable X [[1]] failed json unmarshal: json: cannot unmarshal array into Go value of type map[string]interface {}",
    },
    {
      value: '{"a":"b","c":1e400}',
      warning:
        'Env variable X [{"a":"b","c":1e400}] failed json unmarshal: json: cannot unmarshal number 1e400 into Go value of type float64',
    },
    {
      value: "18446744073709551615",
      warning:
        "Env variable X [18446744073709551615] failed json unmarshal: json: cannot unmarshal number into Go value of type map[string]interface {}",
    },
  ])("bad JSON $value is a warning and merges nothing", ({ value, warning }) => {
    expect(describeNode({ env: { ISTIO_METAJSON_X: value } }).warnings).toEqual([warning]);
  });

  test("keys are sorted by byte value, upper case first, nested objects too", () => {
    const node = describeNode({
      env: { ISTIO_META_b: "1", ISTIO_META_A: "2", ISTIO_METAJSON_M: '{"m":{"z":1,"B":2,"a":3}}' },
    });
    expect(Object.keys(node.metadata)).toEqual([...Object.keys(node.metadata)].sort());
    expect(Object.keys(node.metadata.m as object)).toEqual(["B", "a", "z"]);
  });

  test("DNS_PROXY_ADDR of the process shows up when it is set", () => {
    expect(metadata({ env: { DNS_PROXY_ADDR: "localhost:15053" } }).DNS_PROXY_ADDR).toBe("localhost:15053");
    expect(metadata({ env: { DNS_PROXY_ADDR: "" } })).not.toHaveProperty("DNS_PROXY_ADDR");
  });
});

describe("typed metadata", () => {
  test("the agent's options", () => {
    const agent = {
      stsPort: 15463,
      envoySecureMetricsPort: 15091,
      exitOnZeroActiveConnections: true,
      outlierLogPath: "/dev/stdout",
    };
    expect(metadata({ agent, nodeIps: ["10.0.0.1", "10.0.0.2", "10.0.0.1"] })).toMatchObject({
      ENVOY_PROMETHEUS_PORT: 15090,
      ENVOY_SECURE_METRICS_PORT: 15091,
      ENVOY_SKIP_DEPRECATED_LOGS: "true",
      ENVOY_STATUS_PORT: 15021,
      EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true",
      INSTANCE_IPS: "10.0.0.1,10.0.0.2",
      ISTIO_VERSION: "1.0.0",
      METADATA_DISCOVERY: "false",
      NAME: "p",
      NAMESPACE: "ns",
      OUTLIER_LOG_PATH: "/dev/stdout",
      PILOT_SAN: ["istiod.istio-system.svc"],
      STS_PORT: "15463",
      WORKLOAD_IDENTITY_SOCKET_FILE: "socket",
    });
  });

  test("zero ports, no addresses and no SAN leave their keys out", () => {
    const plain = metadata({ nodeIps: [], agent: { pilotSubjectAltNames: [] } });
    for (const key of ["ENVOY_SECURE_METRICS_PORT", "INSTANCE_IPS", "PILOT_SAN", "STS_PORT", "OUTLIER_LOG_PATH"]) {
      expect(plain).not.toHaveProperty(key);
    }
  });

  test.each([
    ["1", "true"],
    ["T", "true"],
    ["TRUE", "true"],
    ["false", "false"],
    ["0", "0"],
  ])("the flag %s is written as %s", (given, written) => {
    expect(metadata({ env: { ISTIO_META_DNS_CAPTURE: given } }).DNS_CAPTURE).toBe(written);
  });

  test.each(["ALL", "", "yes"])("the flag %j is left out with a warning that names the variable", (value) => {
    const node = describeNode({ env: { ISTIO_META_DNS_CAPTURE: value } });
    expect(node.metadata).not.toHaveProperty("DNS_CAPTURE");
    expect(node.warnings[0]).toContain(`ISTIO_META_DNS_CAPTURE: ${JSON.stringify(value)} is not a boolean`);
  });

  test("a bare JSON boolean is not a flag either", () => {
    const { warnings } = describeNode({ env: { ISTIO_METAJSON_X: '{"DNS_CAPTURE":true}' } });
    expect(warnings[0]).toContain("ISTIO_METAJSON_X: true is not a boolean");
  });

  test.each([
    ["ISTIO_META_POD_PORTS", "x", "is not JSON: invalid character 'x' looking for beginning of value"],
    ["ISTIO_META_POD_PORTS", '{"a":1}', "is not a JSON array of {name, containerPort, protocol}"],
    ["ISTIO_META_LABELS", "x", "is not an object whose values are texts"],
    ["ISTIO_METAJSON_X", '{"OWNER":5}', "is not a text"],
    ["ISTIO_METAJSON_X", '{"OWNER":9223372036854775807}', "9223372036854775807 is not a text"],
    ["ISTIO_METAJSON_X", '{"PILOT_SAN":"a"}', "is not a list of texts"],
  ])("%s=%s stops the start and names the variable", (name, value, reason) => {
    expect(() => describeNode({ env: { [name]: value } })).toThrow(
      expect.objectContaining({ code: "invalid-metadata", message: expect.stringMatching(`^${name}: .*${reason}`) }),
    );
  });

  test("POD_PORTS is written back in one form", () => {
    const env = { ISTIO_META_POD_PORTS: '[ {"containerPort":80}, {"name":"a","containerPort":90,"protocol":"UDP"} ]' };
    expect(metadata({ env }).POD_PORTS).toBe(
      '[{"containerPort":80,"protocol":""},{"name":"a","containerPort":90,"protocol":"UDP"}]',
    );
  });

  test("a number given as text is ignored with a warning; its own variable counts", () => {
    const node = describeNode({ env: { ISTIO_META_ENVOY_STATUS_PORT: "1" } });
    expect(node.metadata.ENVOY_STATUS_PORT).toBe(15021);
    expect(node.warnings[0]).toContain("ISTIO_META_ENVOY_STATUS_PORT");
  });

  test("labels whose names resemble typed keys do not touch them", () => {
    const labels = '{"network":"n","name":"x","labels":5}';
    const node = describeNode({ env: { POD_NAME: "p", ISTIO_METAJSON_LABELS: labels } });
    expect(node.metadata).toMatchObject({ NAME: "p", network: "n", name: "x" });
    expect(node.metadata).not.toHaveProperty("NETWORK");
  });

  test("an empty text comes back as the raw value", () => {
    expect(metadata({ env: { ISTIO_META_CLUSTER_ID: "" } }).CLUSTER_ID).toBe("");
  });

  test.each([
    { option: undefined, env: {}, value: "false" },
    { option: undefined, env: { ISTIO_META_ENABLE_HBONE: "true" }, value: "true" },
    { option: false, env: { ISTIO_META_ENABLE_HBONE: "true" }, value: "false" },
    { option: true, env: {}, value: "true" },
    { option: undefined, env: { ISTIO_META_METADATA_DISCOVERY: "true" }, value: "true" },
  ])("metadata discovery with option $option and $env is $value", ({ option, env, value }) => {
    expect(metadata({ env, agent: { metadataDiscovery: option } }).METADATA_DISCOVERY).toBe(value);
  });

  test("credential sockets add untyped keys", () => {
    const node = describeNode({ agent: { credentialSocketExists: true, customCredentialsFileExists: true } });
    expect(node.metadata).toMatchObject({ credential: "true", "file-credential": "true" });
    expect(node.typed).not.toHaveProperty("credential");
  });

  test("platform metadata is passed on when there is any", () => {
    expect(metadata({ platform: { metadata: { gcp_project: "p" } } }).PLATFORM_METADATA).toEqual({ gcp_project: "p" });
    expect(metadata()).not.toHaveProperty("PLATFORM_METADATA");
  });
});

describe("labels and annotations", () => {
  test("static labels come from ISTIO_METAJSON_LABELS; values that are not text become empty with a warning", () => {
    const node = describeNode({ env: { ISTIO_METAJSON_LABELS: '{"app":"x","n":1}' } });
    expect(node.metadata).toMatchObject({ LABELS: { app: "x", n: "" }, STATIC_LABELS: { app: "x", n: "" } });
    expect(node.warnings[0]).toMatch(/^Env variable with value ".*" failed json unmarshal: /);
  });

  test("the pod's file is laid over static labels and loses pod-template-hash", () => {
    const node = describeNode({
      env: { ISTIO_METAJSON_LABELS: '{"app":"static","only":"static"}' },
      podLabels: 'app="file"\npod-template-hash="abc"\n',
    });
    expect(node.metadata.LABELS).toEqual({ app: "file", only: "static" });
    expect(node.metadata.STATIC_LABELS).toEqual({ app: "static", only: "static" });
  });

  test("instance labels count outside Kubernetes only", () => {
    const platform = { labels: { zone: "z" } };
    expect(metadata({ platform: { ...platform, isKubernetes: false } }).STATIC_LABELS).toEqual({ zone: "z" });
    expect(metadata({ platform })).not.toHaveProperty("STATIC_LABELS");
  });

  test("annotations come from the file; a bad line costs that line only", () => {
    const node = describeNode({ podAnnotations: 'a="1"\nbad=x\nb="2"\n' });
    expect(node.metadata.ANNOTATIONS).toEqual({ a: "1", b: "2" });
    expect(node.warnings).toEqual(["failed to read pod annotations: line 2: failed to unquote x: invalid syntax"]);
  });

  test("labels named like JavaScript's own members are labels", () => {
    const node = describeNode({ podLabels: '__proto__="p"\nconstructor="c"\n' });
    expect(JSON.stringify(node.metadata.LABELS)).toBe('{"__proto__":"p","constructor":"c"}');
  });
});

describe("older generations", () => {
  test("1.20 lacks later keys and writes METADATA_DISCOVERY only when true", () => {
    const plain = metadata({ generation: "1.20", env: { DNS_PROXY_ADDR: "x" } });
    for (const key of [
      "METADATA_DISCOVERY",
      "WORKLOAD_IDENTITY_SOCKET_FILE",
      "ENVOY_SKIP_DEPRECATED_LOGS",
      "DNS_PROXY_ADDR",
    ]) {
      expect(plain).not.toHaveProperty(key);
    }
    expect(metadata({ generation: "1.20", agent: { metadataDiscovery: true } }).METADATA_DISCOVERY).toBe("true");
  });

  test("1.7 exchanges keys, reads owner and workload directly and imports no proxyMetadata", () => {
    const node = describeNode({
      generation: "1.7",
      env: {
        ISTIO_META_OWNER: "o",
        ISTIO_META_WORKLOAD_NAME: "w",
        ISTIO_META_WORKLOAD_X: "skipped",
        ISTIO_ADDITIONAL_METADATA_EXCHANGE_KEYS: "A,B",
      },
      proxyConfig: { proxyMetadata: { ISTIO_META_P: "1" } },
      podAnnotations: 'a="1"\n',
    });
    expect(node.metadata).toMatchObject({ SDS: "true", OWNER: "o", WORKLOAD_NAME: "w" });
    expect(node.metadata.EXCHANGE_KEYS).toMatch(/^NAME,NAMESPACE,.*,CLUSTER_ID,A,B$/);
    for (const key of ["WORKLOAD_X", "P", "ANNOTATIONS", "STATIC_LABELS"])
      expect(node.metadata).not.toHaveProperty(key);
    expect(node.cluster).toBe("istio-proxy");
  });
});

test("MESH_ID is the ProxyConfig's meshId where no variable names one", () => {
  const proxyConfig = { meshId: "config" };
  expect(metadata({ proxyConfig })).toMatchObject({ MESH_ID: "config" });
  expect(metadata({ proxyConfig, env: { ISTIO_META_MESH_ID: "env" } })).toMatchObject({ MESH_ID: "env" });
});

test.each([
  { generation: "1.7", name: "svc", revision: "v2" },
  { generation: "master", name: undefined, revision: "file" },
] as const)("of $generation CANONICAL_SERVICE and CANONICAL_REVISION give $name and $revision", (row) => {
  const env = { CANONICAL_SERVICE: "svc", CANONICAL_REVISION: "v2" };
  const podLabels = row.generation === "master" ? 'service.istio.io/canonical-revision="file"' : 'a="b"';
  const { LABELS } = metadata({ generation: row.generation, env, podLabels }) as { LABELS: Record<string, string> };
  expect(LABELS["service.istio.io/canonical-name"]).toBe(row.name);
  expect(LABELS["service.istio.io/canonical-revision"]).toBe(row.revision);
});
