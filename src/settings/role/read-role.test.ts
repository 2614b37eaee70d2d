import type { NetworkInterfaceInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { ipModeOf, isLocalAddress } from "../../net/ip-mode.ts";
import { formatServiceNode, parseServiceNode } from "../../xds/service-node.ts";
import { createEnvReader } from "../env-reader.ts";
import { type Generation, generationRules } from "../generations.ts";
import { defaultProxyFlags, type ProxyFlags } from "../proxy-flags.ts";
import { readRole } from "./read-role.ts";

interface Case {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly flags?: Partial<ProxyFlags>;
  readonly generation?: Generation;
  readonly interfaces?: Record<string, readonly string[]>;
  readonly exclude?: string;
}

function info(address: string): NetworkInterfaceInfo {
  const internal = address.startsWith("127.") || address === "::1";
  const common = { address, netmask: "", mac: "", internal, cidr: null };
  return address.includes(":") ? { ...common, family: "IPv6", scopeid: 0 } : { ...common, family: "IPv4" };
}

const POD = { POD_NAME: "p", POD_NAMESPACE: "ns" };

async function role(options: Case) {
  const rules = generationRules(options.generation ?? "master");
  const log = recordLog();
  const lines = log.printed;
  const interfaces = Object.entries(options.interfaces ?? {}).map(([name, addresses]) => [name, addresses.map(info)]);
  const result = await readRole({
    args: options.args ?? [],
    flags: { ...defaultProxyFlags(rules), ...options.flags },
    env: createEnvReader({ ...POD, ...options.env }, rules.name, () => undefined),
    rules,
    annotations: new Map(
      options.exclude === undefined ? [] : [["traffic.sidecar.istio.io/excludeInterfaces", options.exclude]],
    ),
    networkInterfaces: () => Object.fromEntries(interfaces),
    log,
    retry: { everyMs: 1, limitMs: 3 },
  });
  return { result, lines };
}

describe("type", () => {
  test.each([
    { args: [], type: "sidecar" },
    { args: ["router"], type: "router" },
    { args: ["waypoint", "ignored"], type: "waypoint" },
    { args: ["ztunnel"], type: "ztunnel" },
    { args: ["agentgateway"], type: "agentgateway" },
  ])("$args is a $type", async ({ args, type }) => {
    expect((await role({ args })).result.type).toBe(type);
  });

  test.each([
    { generation: "master", word: "invalid", says: "invalid proxy Type: invalid" },
    { generation: "master", word: "", says: "invalid proxy Type: " },
    { generation: "1.20", word: "agentgateway", says: "Invalid proxy Type: agentgateway" },
    { generation: "1.7", word: "ztunnel", says: "Invalid role Type: ztunnel" },
  ] as const)("$generation refuses $word", async ({ generation, word, says }) => {
    await expect(role({ generation, args: [word] })).rejects.toMatchObject({
      code: "invalid-proxy-type",
      message: says,
      problems: [{ value: word }],
    });
  });
});

describe("addresses", () => {
  const eth0 = { lo: ["127.0.0.1", "::1"], eth0: ["10.3.3.3", "fe80::1"] };
  const two = { eth0: ["10.3.3.3"], net1: ["10.4.4.4", "2001:db8::1"] };
  test.each<Case & { gives: readonly string[] }>([
    { interfaces: eth0, gives: ["10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: "10.9.9.9" }, gives: ["10.9.9.9", "10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: "10.3.3.3" }, gives: ["10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: " 10.9.9.9" }, gives: ["10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: "nonsense" }, gives: ["10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: "::ffff:10.1.1.1" }, gives: ["::ffff:10.1.1.1", "10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: "fe80::1%d0" }, gives: ["fe80::1%d0", "10.3.3.3"] },
    { interfaces: eth0, env: { INSTANCE_IP: "0.0.0.0" }, gives: ["0.0.0.0", "10.3.3.3"] },
    { interfaces: { eth0: ["::ffff:10.1.1.1"] }, gives: ["10.1.1.1"] },
    { interfaces: { eth0: ["169.254.3.4", "224.0.0.5", "ff02::5", "10.0.0.1"] }, gives: ["10.0.0.1"] },
    { interfaces: {}, gives: ["127.0.0.1", "::1"] },
    { interfaces: {}, env: { INSTANCE_IP: "10.9.9.9" }, gives: ["10.9.9.9"] },
    { interfaces: { eth0: ["10.0.0.1", "0.0.0.0"] }, gives: ["127.0.0.1", "::1"] },
    { interfaces: two, exclude: "net1", gives: ["10.3.3.3"] },
    { interfaces: two, exclude: " net1 , eth0 ", gives: [] },
    { interfaces: two, exclude: "net1,eth0", env: { INSTANCE_IP: "10.4.4.4" }, gives: ["10.4.4.4"] },
    { interfaces: two, exclude: "net1", env: { INSTANCE_IP: "10.4.4.4" }, generation: "1.20", gives: ["10.3.3.3"] },
    { interfaces: two, exclude: "net1", generation: "1.7", gives: ["10.3.3.3", "10.4.4.4", "2001:db8::1"] },
    {
      interfaces: eth0,
      flags: { ip: "10.7.7.7" },
      env: { INSTANCE_IP: "10.9.9.9" },
      generation: "1.7",
      gives: ["10.7.7.7", "10.3.3.3"],
    },
    { interfaces: eth0, flags: { ip: "10.7.7.7" }, gives: ["10.3.3.3"] },
  ])("$interfaces $env $exclude $generation -> $gives", async ({ gives, ...options }) => {
    expect((await role(options)).result.ipAddresses).toEqual(gives);
  });

  test("an unknown excluded interface warns and the others still count", async () => {
    const { result, lines } = await role({ interfaces: two, exclude: "nope,net1," });
    expect(result.ipAddresses).toEqual(["10.3.3.3"]);
    expect(lines.slice(0, 2)).toEqual([
      "warn Unable to get interface nope: route ip+net: no such network interface",
      "info Exclude IPs [10.4.4.4 2001:db8::1] based on traffic.sidecar.istio.io/excludeInterfaces annotation",
    ]);
  });

  test("an interface that gets its address late is waited for", async () => {
    let looks = 0;
    const rules = generationRules("master");
    const { ipAddresses } = await readRole({
      args: [],
      flags: defaultProxyFlags(rules),
      env: createEnvReader({}, "master", () => undefined),
      rules,
      annotations: new Map(),
      networkInterfaces: () => ({ eth0: [info(++looks < 3 ? "0.0.0.0" : "10.0.0.1")] }),
      log: recordLog(),
      retry: { everyMs: 1, limitMs: 30_000 },
    });
    expect([ipAddresses, looks]).toEqual([["10.0.0.1"], 3]);
  });

  test("excluding everything leaves a node string without address", async () => {
    const { result } = await role({ interfaces: two, exclude: "eth0,net1" });
    expect(result).toMatchObject({ serviceNode: "sidecar~~p.ns~ns.svc.cluster.local", ipMode: "ipv4" });
  });
});

describe("names", () => {
  test.each<Case & { id: string; domain: string }>([
    { id: "p.ns", domain: "ns.svc.cluster.local" },
    { env: { POD_NAME: "", POD_NAMESPACE: "" }, id: ".", domain: ".svc.cluster.local" },
    { flags: { domain: "x.y" }, id: "p.ns", domain: "x.y" },
    { flags: { id: "i", serviceregistry: "Consul" }, id: "p.ns", domain: "ns.svc.cluster.local" },
    { generation: "1.7", flags: { id: "i" }, id: "i", domain: "ns.svc.cluster.local" },
    {
      generation: "1.7",
      flags: { serviceregistry: "Consul" },
      env: { INSTANCE_IP: "10.1.1.1" },
      id: "10.1.1.1.service.consul",
      domain: "service.consul",
    },
    {
      generation: "1.7",
      flags: { serviceregistry: "Mock" },
      env: { INSTANCE_IP: "10.1.1.1" },
      id: "10.1.1.1",
      domain: "",
    },
  ])("$generation $flags $env -> $id $domain", async ({ id, domain, ...options }) => {
    expect((await role(options)).result).toMatchObject({ id, dnsDomain: domain });
  });

  test("the role is logged with its labels", async () => {
    const { lines } = await role({ env: { INSTANCE_IP: "10.3.3.3" } });
    expect(lines.at(-1)).toBe(
      'info Proxy role {"ips":["10.3.3.3"],"type":"sidecar","id":"p.ns","domain":"ns.svc.cluster.local"}',
    );
  });
});

test.each([
  { addresses: [], mode: "ipv4" },
  { addresses: ["10.0.0.1", "10.0.0.2"], mode: "ipv4" },
  { addresses: ["1111:2222::1", "::1"], mode: "ipv6" },
  { addresses: ["1111:2222::1", "10.0.0.1"], mode: "dual" },
  { addresses: ["fe80::1%d0"], mode: "ipv6" },
])("$addresses is $mode", ({ addresses, mode }) => {
  expect(ipModeOf(addresses)).toBe(mode);
});

test.each([
  "127.0.0.1",
  "127.9.9.9",
  "::1",
  "169.254.1.1",
  "fe80::1",
  "fe80::1%eth0",
  "224.0.0.251",
  "ff02::fb",
  "::ffff:127.0.0.1",
])("%s is local", (address) => expect(isLocalAddress(address)).toBe(true));

describe("node strings", () => {
  test.each([
    {
      type: "sidecar",
      ip: "10.1.1.0",
      id: "v0.default",
      dnsDomain: "default.svc.cluster.local",
      node: "sidecar~10.1.1.0~v0.default~default.svc.cluster.local",
    },
    { type: "router", ip: "", id: "x", dnsDomain: "local", node: "router~~x~local" },
  ])("$node", ({ node, ...parts }) => expect(formatServiceNode(parts)).toBe(node));

  test.each([
    {
      node: "sidecar~10.1.1.0~v0.default~default.svc.cluster.local",
      metadata: {},
      gives: { type: "sidecar", ipAddresses: ["10.1.1.0"], configNamespace: "default" },
    },
    { node: "router~10.1.1.0~x~local", metadata: {}, gives: { configNamespace: "" } },
    { node: "router~10.1.1.0~x~a.b", metadata: { NAMESPACE: "ns" }, gives: { configNamespace: "ns" } },
    {
      node: "router~10.1.1.0~x~a.b",
      metadata: { INSTANCE_IPS: "10.1.1.1,2001:db8::1" },
      gives: { ipAddresses: ["10.1.1.1", "2001:db8::1"] },
    },
    { node: "router~10.1.1.0~x~a.b", metadata: { INSTANCE_IPS: "10.1.1.1,bad" }, gives: { ipAddresses: ["10.1.1.0"] } },
    { node: "router~~x~a.b", metadata: { INSTANCE_IPS: "10.1.1.1" }, gives: { ipAddresses: ["10.1.1.1"] } },
  ])("$node with $metadata", ({ node, metadata, gives }) =>
    expect(parseServiceNode(node, metadata)).toMatchObject(gives),
  );

  test.each([
    { node: "sidecar~10.1.1.1~x", code: "missing-parts" },
    { node: "sidecar~10.1.1.1~x~y~z", code: "missing-parts" },
    { node: "foo~10.1.1.1~x~y", code: "invalid-type" },
    { node: "sidecar~bad~x~y", code: "no-address" },
  ])("$node is refused: $code", ({ node, code }) => {
    expect(() => parseServiceNode(node, {})).toThrow(expect.objectContaining({ code }));
  });
});
