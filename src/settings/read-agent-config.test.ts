import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { memoryFiles } from "../../test/support/settings/memory-files.ts";
import { ConfigError, describeProblem } from "./config-error.ts";
import { ENVIRONMENT } from "./environment-table.ts";
import { chooseGeneration, GENERATIONS } from "./generations.ts";
import { defaultProxyFlags, type ProxyFlags } from "./proxy-flags.ts";
import { readAgentConfig } from "./read-agent-config.ts";

interface Case {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly files?: Record<string, string>;
  readonly flags?: Partial<ProxyFlags>;
}

async function read({ args = [], env = {}, files = {}, flags = {} }: Case = {}) {
  const log = recordLog();
  const lines = log.printed;
  const config = await readAgentConfig({
    args,
    flags: { ...defaultProxyFlags(chooseGeneration(env.PILOT_AGENT_GENERATION)), ...flags },
    env: { POD_NAME: "p", POD_NAMESPACE: "ns", INSTANCE_IP: "10.3.3.3", ...env },
    log,
    uid: 1337,
    files: memoryFiles(files),
    networkInterfaces: () => ({}),
    lookupHost: () => Promise.reject(new Error("no lookups here")),
    hostCpus: 4,
  });
  return { config, lines };
}

async function failure(options: Case): Promise<ConfigError> {
  const thrown = await read(options).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof ConfigError)) throw new Error(`no config error: ${String(thrown)}`);
  return thrown;
}

test("a plain sidecar logs its role, its config and where its identity comes from", async () => {
  const { config, lines } = await read({ env: { PROXY_CONFIG: '{"concurrency":2}' } });
  expect(config.role.serviceNode).toBe("sidecar~10.3.3.3~p.ns~ns.svc.cluster.local");
  expect(lines.filter((line) => !line.startsWith("debug")).map((line) => line.split("\n")[0])).toEqual([
    'info Proxy role {"ips":["10.3.3.3"],"type":"sidecar","id":"p.ns","domain":"ns.svc.cluster.local"}',
    'info Apply proxy config from env {"concurrency":2}',
    "info Effective config: binaryPath: /usr/local/bin/envoy",
    "info JWT policy is third-party-jwt",
    "info using credential fetcher of JWT type in cluster.local trust domain",
  ]);
});

test("the annotation address also becomes the CA's", async () => {
  const { config } = await read({
    files: { "./etc/istio/pod/annotations": 'sidecar.istio.io/discoveryAddress="a.b:15012"' },
  });
  expect(config.identity.ca.options.endpoint).toBe("a.b:15012");
  expect(config.xds).toMatchObject({ upstream: { address: "a.b:15012" }, tls: { serverName: "a.b" } });
});

test("the template flag reaches the config after it was logged", async () => {
  const { config, lines } = await read({ flags: { templateFile: "/t.json" } });
  expect(config.proxyConfig.proxyBootstrapTemplatePath).toBe("/t.json");
  expect(lines.join()).not.toContain("/t.json");
});

test("everything is frozen, however deep", async () => {
  const { config } = await read({ env: { PROXY_CONFIG: "proxyMetadata: {A: b}", XDS_HEADER_A: "b" } });
  const thawed: string[] = [];
  const visit = (value: unknown, path: string) => {
    // Sets and patterns of the generation's rules are class instances, which are not frozen.
    if (typeof value !== "object" || value === null || value instanceof Set || value instanceof RegExp) return;
    if (!Object.isFrozen(value)) thawed.push(path);
    for (const [key, member] of Object.entries(value)) visit(member, `${path}.${key}`);
  };
  visit(config, "config");
  expect(thawed).toEqual([]);
});

test("a scalar that does not parse warns once and never stops the start", async () => {
  const { config, lines } = await read({ env: { DISABLE_ENVOY: "maybe", SECRET_TTL: "1" } });
  expect(config.agent.disableEnvoy).toBe(false);
  expect(lines.filter((line) => line.startsWith("warn"))).toEqual([
    'warn Invalid environment variable value `1`, expecting a duration, defaulting to 24h0m0s {"variable":"SECRET_TTL"}',
    'warn Invalid environment variable value `maybe`, expecting true/false, defaulting to false {"variable":"DISABLE_ENVOY"}',
  ]);
});

test("warnings that every command prints are not repeated, those of late reads are", async () => {
  const log = recordLog();
  const lines = log.printed;
  await readAgentConfig({
    args: [],
    flags: defaultProxyFlags(chooseGeneration("")),
    env: { DISABLE_ENVOY: "maybe", DNS_FORWARD_TIMEOUT: "5" },
    log,
    uid: 0,
    files: memoryFiles({}),
    networkInterfaces: () => ({}),
    environmentWarned: true,
  });
  expect(lines.filter((line) => line.startsWith("warn"))).toEqual([
    'warn Invalid environment variable value `5`, expecting a duration, defaulting to 5s {"variable":"DNS_FORWARD_TIMEOUT"}',
  ]);
});

test("the machine's own interfaces and files are enough", async () => {
  const log = recordLog();
  const flags = defaultProxyFlags(chooseGeneration(""));
  const { role, envoy } = await readAgentConfig({ args: ["router"], flags, env: {}, log, uid: 0 });
  expect(role.ipAddresses.length).toBeGreaterThan(0);
  expect(role.serviceNode).toBe(`router~${role.ipAddresses[0]}~.~.svc.cluster.local`);
  expect(envoy.termination.inboundOnly).toBe(false);
});

test("any environment gives a config or a config error", async () => {
  const names = ENVIRONMENT.map((row) => row.name).filter(
    (name) => !name.endsWith("*") && name !== "PILOT_AGENT_GENERATION",
  );
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom("true", "1", "-1", "5s", "{}", "[]", "{", "a: b", "x:1", "10.0.0.1", "SYSTEM"),
    fc.json(),
  );
  const environment = fc.record({
    env: fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 25 }),
    generation: fc.constantFrom(...GENERATIONS),
    annotations: fc.string(),
    mesh: fc.oneof(fc.constant(""), value),
  });
  await fc.assert(
    fc.asyncProperty(environment, async ({ env, generation, annotations, mesh }) => {
      const files = { "./etc/istio/pod/annotations": annotations, "./etc/istio/config/mesh": mesh };
      try {
        await read({ env: { ...env, PILOT_AGENT_GENERATION: generation }, files });
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(ConfigError);
        expect((thrown as ConfigError).problems.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: 200 },
  );
});

describe("problems", () => {
  test("a bad node type comes first, before any role is announced", async () => {
    const error = await failure({ args: ["nonsense"] });
    expect(error).toMatchObject({ code: "invalid-proxy-type", message: "invalid proxy Type: nonsense" });
    expect(error.problems.map(describeProblem)).toEqual([
      'first argument of proxy: invalid proxy Type: nonsense (value "nonsense"); allowed: sidecar, router, waypoint, ztunnel, agentgateway',
    ]);
  });

  test("all sources are checked before the start is refused", async () => {
    const error = await failure({
      args: ["nonsense"],
      env: { PROXY_CONFIG: "meshId: 5", CREDENTIAL_FETCHER_TYPE: "X", ISTIO_KUBE_APP_PROBERS: "{" },
      files: {
        "./etc/istio/pod/annotations": 'proxy.istio.io/config="statusPort: x"',
        "./etc/istio/config/mesh": "trustDomain: -x",
      },
    });
    expect(error.problems.map((problem) => problem.source)).toEqual([
      "first argument of proxy",
      "file ./etc/istio/config/mesh",
      "environment variable PROXY_CONFIG",
      "annotation proxy.istio.io/config",
      "environment variable CREDENTIAL_FETCHER_TYPE",
      "environment variable ISTIO_KUBE_APP_PROBERS",
    ]);
    expect(error.message.split("\n")[0]).toBe("invalid proxy Type: nonsense");
    expect(error.message).toContain("\nalso: failed to create credential fetcher: invalid credential fetcher type X");
  });

  test("a single failing step keeps its own text", async () => {
    expect((await failure({ env: { ISTIO_PROMETHEUS_ANNOTATIONS: "{" } })).message).toBe(
      "failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: unexpected end of JSON input",
    );
  });
});

describe("generations", () => {
  test.each([
    { text: undefined, name: "master" },
    { text: "", name: "master" },
    ...GENERATIONS.map((name) => ({ text: name, name })),
  ])("$text is $name", ({ text, name }) => expect(chooseGeneration(text).name).toBe(name));

  test("an unknown one is refused with the list of those known", () => {
    expect(() => chooseGeneration("2.0")).toThrow(
      'PILOT_AGENT_GENERATION is "2.0", allowed are master, 1.20, 1.8, 1.7, 1.6, 1.2',
    );
  });

  test("the environment chooses it once for all parts", async () => {
    const { config } = await read({ env: { PILOT_AGENT_GENERATION: "1.7" } });
    expect(config.generation.name).toBe("1.7");
    expect(config.proxyConfig).toMatchObject({ parentShutdownDuration: "60s", concurrency: 0 });
    expect(config.envoy.args.componentLogLevel).toBe("misc:error");
  });

  test("1.8 has the defaults of its time, and its flags win over the ProxyConfig", async () => {
    const PROXY_CONFIG = "{parentShutdownDuration: 90s, concurrency: 7, serviceCluster: mine}";
    const { config } = await read({ env: { PILOT_AGENT_GENERATION: "1.8", PROXY_CONFIG } });
    expect(config.proxyConfig).toMatchObject({ serviceCluster: "istio-proxy", concurrency: 0 });
    expect(config.envoy).toMatchObject({
      hotRestart: { parentShutdownMs: 90_000 },
      args: { componentLogLevel: "misc:error" },
    });
  });
});
