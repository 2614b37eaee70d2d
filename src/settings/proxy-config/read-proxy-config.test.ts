import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { memoryFiles } from "../../../test/support/settings/memory-files.ts";
import { type ConfigError, describeProblem } from "../config-error.ts";
import { createEnvReader } from "../env-reader.ts";
import { type Generation, generationRules } from "../generations.ts";
import { defaultProxyFlags, type ProxyFlags } from "../proxy-flags.ts";
import { applyTemplateFlag, readProxyConfig } from "./read-proxy-config.ts";

interface Case {
  readonly mesh?: string | Error;
  readonly env?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly flags?: Partial<ProxyFlags>;
  readonly generation?: Generation;
  readonly files?: Record<string, string>;
  readonly isSidecar?: boolean;
}

async function read(options: Case) {
  const rules = generationRules(options.generation ?? "master");
  const log = recordLog();
  const lines = log.printed;
  const config = readProxyConfig({
    flags: { ...defaultProxyFlags(rules), ...options.flags },
    env: createEnvReader(options.env ?? {}, rules.name, () => undefined),
    rules,
    annotations: new Map(Object.entries(options.annotations ?? {})),
    files: memoryFiles({
      ...options.files,
      ...(options.mesh !== undefined && { "./etc/istio/config/mesh": options.mesh }),
    }),
    hostCpus: 8,
    isSidecar: options.isSidecar ?? true,
    lookupHost: async () => ["10.0.0.9"],
    log,
  });
  return { config: await config, lines };
}

async function failure(options: Case): Promise<ConfigError> {
  try {
    await read(options);
  } catch (thrown) {
    return thrown as ConfigError;
  }
  throw new Error("the config was accepted");
}

const CONFIG = "proxy.istio.io/config";

describe("precedence", () => {
  test("file, environment and annotation together", async () => {
    const { config, lines } = await read({
      mesh: "defaultConfig: {discoveryAddress: file:1, proxyMetadata: {A: file, B: file}, extraStatTags: [file], proxyStatsMatcher: {inclusionPrefixes: [file]}}",
      env: { PROXY_CONFIG: "discoveryAddress: env:1\nproxyMetadata: {B: env, C: env}\nextraStatTags: [env]" },
      annotations: {
        [CONFIG]:
          "discoveryAddress: annotation:1\nproxyMetadata: {C: annotation}\nproxyStatsMatcher: {inclusionSuffixes: [x]}",
      },
    });
    expect(config).toMatchObject({
      discoveryAddress: "annotation:1",
      proxyMetadata: { A: "file", B: "env", C: "annotation" },
      extraStatTags: ["env"],
      proxyStatsMatcher: { inclusionSuffixes: ["x"] },
    });
    expect(config.proxyStatsMatcher).not.toHaveProperty("inclusionPrefixes");
    expect(lines.map((line) => line.split("{")[0]?.slice(0, 40))).toEqual([
      "info Apply mesh config from file default",
      "info Apply proxy config from env discove",
      "info Apply proxy config from annotation ",
      "info Effective config: binaryPath: /usr/",
    ]);
  });

  test("nothing given is the defaults, with one line in the log", async () => {
    const { config, lines } = await read({ env: { PROXY_CONFIG: "" }, mesh: "" });
    expect(config.discoveryAddress).toBe("istiod.istio-system.svc:15012");
    expect(lines).toHaveLength(1);
  });

  test("a null proxyMetadata and a junk key in the environment change nothing", async () => {
    const { config } = await read({
      mesh: "defaultConfig: {proxyMetadata: {A: a}}",
      env: { PROXY_CONFIG: "proxyMetadata:\njunk: 1" },
    });
    expect(config.proxyMetadata).toEqual({ A: "a" });
  });

  test("the old annotations beat everything", async () => {
    const { config } = await read({
      env: { PROXY_CONFIG: "{discoveryAddress: env:1, statusPort: 1}" },
      annotations: { "sidecar.istio.io/discoveryAddress": "ann:1", "status.sidecar.istio.io/port": "15099" },
    });
    expect(config).toMatchObject({ discoveryAddress: "ann:1", statusPort: 15099 });
  });

  test.each([
    { port: "0", gives: 0, logs: undefined },
    { port: "-5", gives: 0, logs: undefined },
    {
      port: "abc",
      gives: 15020,
      logs: 'error Invalid annotation status.sidecar.istio.io/port=abc: strconv.Atoi: parsing "abc": invalid syntax',
    },
    {
      port: "70000",
      gives: 15020,
      logs: "error Invalid annotation status.sidecar.istio.io/port=70000: port number 70000 must be at most 65535",
    },
  ])("status port annotation $port gives $gives", async ({ port, gives, logs }) => {
    const { config, lines } = await read({ annotations: { "status.sidecar.istio.io/port": port } });
    expect(config.statusPort).toBe(gives);
    expect(lines.find((line) => line.startsWith("error"))).toBe(logs);
  });

  test("statsd is resolved", async () => {
    expect((await read({ env: { PROXY_CONFIG: "statsdUdpAddress: stats:1" } })).config.statsdUdpAddress).toBe(
      "10.0.0.9:1",
    );
  });

  test("an unresolvable statsd address is dropped", async () => {
    expect((await read({ env: { PROXY_CONFIG: "statsdUdpAddress: stats" } })).config).not.toHaveProperty(
      "statsdUdpAddress",
    );
  });

  test.each([
    { env: {}, flags: {}, gives: "istio-proxy" },
    { env: { PROXY_CONFIG: "serviceCluster: ''" }, flags: {}, gives: "istio-proxy" },
    { env: { PROXY_CONFIG: "serviceCluster: ''" }, flags: { serviceCluster: "app.ns" }, gives: "app.ns" },
    { env: {}, flags: { serviceCluster: "app.ns", changed: new Set(["serviceCluster"]) }, gives: "app.ns" },
    {
      env: { PROXY_CONFIG: "serviceCluster: mine" },
      flags: { serviceCluster: "app.ns", changed: new Set(["serviceCluster"]) },
      gives: "mine",
    },
    {
      env: { PROXY_CONFIG: "tracingServiceName: CANONICAL_NAME_ONLY" },
      flags: { serviceCluster: "app.ns", changed: new Set(["serviceCluster"]) },
      gives: undefined,
    },
  ])("service cluster of $env with $flags is $gives", async ({ env, flags, gives }) => {
    expect((await read({ env, flags })).config.serviceCluster).toBe(gives);
  });

  test("on 1.7 the flags beat even the annotation", async () => {
    const annotations = { [CONFIG]: "serviceCluster: x\nconcurrency: 7" };
    const { config } = await read({
      generation: "1.7",
      annotations,
      flags: { serviceCluster: "app.ns", concurrency: 2 },
    });
    expect(config).toMatchObject({ serviceCluster: "app.ns", concurrency: 2 });
    expect((await read({ generation: "1.7", annotations })).config.concurrency).toBe(0);
  });

  test("TERMINATION_DRAIN_DURATION_SECONDS counts when set, on the generations that know it", async () => {
    const env = { TERMINATION_DRAIN_DURATION_SECONDS: "9" };
    expect((await read({ generation: "1.8", env })).config.terminationDrainDuration).toBe("9s");
    expect((await read({ generation: "1.8" })).config.terminationDrainDuration).toBe("5s");
    expect((await read({ env })).config.terminationDrainDuration).toBe("5s");
  });

  test.each<Case & { gives: number | undefined }>([
    { files: { "./etc/istio/pod/cpu-limit": "6500" }, gives: 7 },
    { files: { "./etc/istio/pod/cpu-limit": "500\n", "./etc/istio/pod/cpu-request": "2000" }, gives: 1 },
    { files: { "./etc/istio/pod/cpu-limit": "0", "./etc/istio/pod/cpu-request": "2000" }, gives: 2 },
    { files: { "./etc/istio/pod/cpu-limit": "many" }, gives: undefined },
    { files: { "./etc/istio/pod/cpu-limit": "6500" }, env: { ISTIO_CPU_LIMIT: "3" }, gives: 3 },
    { files: { "./etc/istio/pod/cpu-limit": "6500" }, isSidecar: false, gives: undefined },
    { files: { "./etc/istio/pod/cpu-limit": "6500" }, env: { PROXY_CONFIG: "concurrency: 0" }, gives: 0 },
  ])("CPU files $files with $env give concurrency $gives", async ({ gives, ...options }) => {
    expect((await read(options)).config.concurrency).toBe(gives);
  });

  test("the template flag counts only without a custom bootstrap", async () => {
    const { config } = await read({});
    expect(applyTemplateFlag(config, "/t.json").proxyBootstrapTemplatePath).toBe("/t.json");
    expect(applyTemplateFlag(config, "")).toBe(config);
    expect(applyTemplateFlag({ customConfigFile: "/c" }, "/t.json")).toEqual({ customConfigFile: "/c" });
  });
});

describe("errors", () => {
  const environment = (raw: string) =>
    `failed to get proxy config: failed to unmarshal mesh config from environment [${raw}]: could not parse proxy config: `;

  test.each([
    { raw: "{", cause: "yaml: line 1: did not find expected node content" },
    { raw: "meshId: 123", cause: "json: cannot unmarshal number into Go value of type string (field meshId)" },
    { raw: "[]", cause: "json: cannot unmarshal array into Go value of type map[string]json.RawMessage" },
    { raw: 'drainDuration: "30"', cause: 'bad Duration: time: missing unit in duration "30" (field drainDuration)' },
    {
      raw: "controlPlaneAuthPolicy: FOO",
      cause:
        'unknown value "\\"FOO\\"" for enum istio.mesh.v1alpha1.AuthenticationPolicy (field controlPlaneAuthPolicy)',
    },
  ])("PROXY_CONFIG $raw", async ({ raw, cause }) => {
    const error = await failure({ env: { PROXY_CONFIG: raw } });
    expect(error).toMatchObject({ code: "invalid-proxy-config", message: environment(raw) + cause });
    expect(error.problems[0]?.source).toBe("environment variable PROXY_CONFIG");
  });

  test("the annotation is named in its errors", async () => {
    const error = await failure({ annotations: { [CONFIG]: "meshId: 1" } });
    expect(error.message).toMatch(
      /^failed to get proxy config: failed to unmarshal mesh config from annotation \[meshId: 1\]: could not parse proxy config: /,
    );
    expect(error.problems).toEqual([
      {
        source: "annotation proxy.istio.io/config",
        field: "meshId",
        message: "json: cannot unmarshal number into Go value of type string",
        value: "1",
        allowed: "text (put it in quotes)",
      },
    ]);
  });

  test.each<{ given: Case; reported: string }>([
    {
      given: { env: { PROXY_CONFIG: "discoveryAddress: env" } },
      reported:
        'environment variable PROXY_CONFIG, field discoveryAddress: invalid discovery address: unable to split "env": address env: missing port in address (value "env"); allowed: host:port',
    },
    {
      given: { env: { PROXY_CONFIG: "discoveryAddress: env" }, annotations: { [CONFIG]: "discoveryAddress: late" } },
      reported:
        'annotation proxy.istio.io/config, field discoveryAddress: invalid discovery address: unable to split "late": address late: missing port in address (value "late"); allowed: host:port',
    },
    {
      given: { mesh: "defaultConfig: {statusPort: 70000}" },
      reported:
        'file ./etc/istio/config/mesh, field defaultConfig.statusPort: invalid status port: port number 70000 must be in the range 1..65535 (value "70000"); allowed: 1 to 65535',
    },
    {
      given: { env: { PROXY_CONFIG: 'serviceCluster: ""' }, flags: { serviceCluster: "" } },
      reported:
        'environment variable PROXY_CONFIG, field serviceCluster: service cluster must be specified (value ""); allowed: a name that is not empty',
    },
    {
      given: { env: { PROXY_CONFIG: "connectionSettings: {http2InitialStreamWindowSize: 1}" } },
      reported:
        'environment variable PROXY_CONFIG, field connectionSettings.http2InitialStreamWindowSize: invalid connection settings: http2_initial_stream_window_size must be at least 65535 (value "1"); allowed: 65535 or more',
    },
  ])("a broken rule names the source that set the field: $reported", async ({ given, reported }) => {
    expect((await failure(given)).problems.map(describeProblem)).toEqual([reported]);
  });

  test.each([
    {
      mesh: "trustDomain: 1",
      says: "from file [trustDomain: 1]: failed to convert to proto. json: cannot unmarshal number into Go value of type string (field trustDomain)",
    },
    {
      mesh: "connectTimeout: 2h",
      says: "from file [connectTimeout: 2h]: invalid connect timeout: time 2h0m0s must be >1ms and <1h0m0s",
    },
    {
      mesh: "trustDomain: -x",
      says: 'from file [trustDomain: -x]: 1 error occurred:\n\t* trustDomain: trust domain name "-x" invalid\n\n',
    },
    {
      mesh: "a: [",
      says: "from file [a: []: failed to convert to proto. yaml: line 1: did not find expected node content",
    },
  ])("mesh file $mesh", async ({ mesh, says }) => {
    expect((await failure({ mesh })).message).toBe(
      `failed to get proxy config: failed to unmarshal mesh config ${says}`,
    );
  });

  test("an unreadable mesh file stops the start", async () => {
    const mesh = Object.assign(new Error("EACCES"), { code: "EACCES" });
    expect((await failure({ mesh })).message).toBe(
      "failed to get proxy config: failed to read mesh config file ./etc/istio/config/mesh: open ./etc/istio/config/mesh: permission denied",
    );
  });

  test("the merged config is validated as a whole", async () => {
    expect((await failure({ env: { PROXY_CONFIG: "{statusPort: 0, binaryPath: ''}" } })).message).toBe(
      "failed to get proxy config: 2 errors occurred:\n\t* binary path must be set\n\t* invalid status port: port number 0 must be in the range 1..65535\n\n",
    );
  });

  test("a discovery address annotation without a port is refused before anything starts", async () => {
    const error = await failure({ annotations: { "sidecar.istio.io/discoveryAddress": "bad" } });
    expect(error.problems).toEqual([
      {
        source: "annotation sidecar.istio.io/discoveryAddress",
        message: 'invalid discovery address: unable to split "bad": address bad: missing port in address',
        value: "bad",
        allowed: "host:port",
      },
    ]);
  });

  test("problems of all sources come together, each once", async () => {
    const error = await failure({
      mesh: "defaultConfig: {statusPort: 0}\ntrustDomain: -x",
      env: { PROXY_CONFIG: "meshId: 1\nimage: 5" },
      annotations: { [CONFIG]: "{", "sidecar.istio.io/discoveryAddress": "x" },
    });
    expect(error.problems.map((problem) => problem.source)).toEqual([
      "file ./etc/istio/config/mesh",
      "file ./etc/istio/config/mesh",
      "environment variable PROXY_CONFIG",
      "environment variable PROXY_CONFIG",
      "annotation proxy.istio.io/config",
      "annotation sidecar.istio.io/discoveryAddress",
    ]);
    expect(error.message.match(/^also: /gm)).toHaveLength(3);
  });

  test("access tokens appear neither in logs nor in errors", async () => {
    const token = "s3cret";
    const good = `tracing: {lightstep: {address: a:1, accessToken: ${token}}}`;
    const { lines } = await read({
      mesh: `defaultConfig: {${good}}`,
      env: { PROXY_CONFIG: good },
      annotations: { [CONFIG]: good },
    });
    expect(lines.join("\n")).not.toContain(token);
    const error = await failure({
      mesh: `{trustDomain: 1, defaultConfig: {${good}}}`,
      env: { PROXY_CONFIG: `meshId: 1\n${good}` },
    });
    expect(error.message + JSON.stringify(error.problems)).not.toContain(token);
    expect(
      JSON.stringify((await failure({ env: { PROXY_CONFIG: "tracing: {lightstep: {accessToken: 12345}}" } })).problems),
    ).not.toContain("12345");
  });
});

test("warnings of the mesh file are logged in list form", async () => {
  const { lines } = await read({
    mesh: "tlsDefaults: {ecdhCurves: [foo]}\nextensionProviders: [{name: z, zipkin: {service: a.b}}]",
  });
  expect(lines).toContain(
    "warn warnings occurred during mesh validation: 1 error occurred:\n\t* detected unrecognized ECDH curves: [foo]\n\n",
  );
  expect(lines).toContain(
    "warn found invalid extension provider (can be ignored if the given extension provider is not used): invalid extension provider z: invalid service port: port number 0 must be in the range 1..65535",
  );
});

test("the effective config is printed as YAML with a final newline", async () => {
  const { lines } = await read({ env: { PROXY_CONFIG: "concurrency: 0\nterminationDrainDuration: 500ms" } });
  expect(lines.at(-1)).toMatch(
    /^info Effective config: binaryPath: .*\nconcurrency: 0\n.*\nterminationDrainDuration: 0.500s\n$/s,
  );
});
