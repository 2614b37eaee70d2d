import { expect, test } from "vitest";
import { buildMeshSettings, defaultMeshSettings, parseMeshSettings } from "./build-mesh-settings.ts";
import type { MeshSettings } from "./mesh-settings.ts";

test("a mesh without configuration has the documented defaults", () => {
  const { source, ...settings } = defaultMeshSettings();
  expect(settings).toEqual({
    domainSuffix: "cluster.local",
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    quicListeners: false,
    persistentSessions: false,
    rootNamespace: "istio-system",
    proxyListenPort: 15001,
    proxyInboundListenPort: 15006,
    proxyHttpPort: 0,
    connectTimeoutMs: 10_000,
    protocolDetectionTimeoutMs: 0,
    dnsRefreshRateMs: 60_000,
    enableAutoMtls: true,
    outboundTrafficPolicy: "ALLOW_ANY",
    inboundTrafficPolicy: "PASSTHROUGH",
    localityLb: { enabled: true },
    defaultTrafficPolicy: {},
    tlsDefaults: { ecdhCurves: [], cipherSuites: [] },
    meshMtls: { cipherSuites: [] },
    preservesHeaderCase: false,
    clusterLocalHosts: [],
    proxyHeaders: {},
    pathNormalization: "DEFAULT",
    defaultServiceExportTo: ["*"],
    defaultVirtualServiceExportTo: ["*"],
    defaultDestinationRuleExportTo: ["*"],
    accessLog: { file: "", format: "", encoding: "TEXT" },
  });
  expect(source.extensionProviders).toHaveLength(3);
});

test("an empty message gives the same as the defaults, except what protobuf says about absent modes", () => {
  const { source: _ours, ...empty } = buildMeshSettings({});
  const { source: _theirs, ...defaults } = defaultMeshSettings();
  expect(empty).toEqual(defaults);
  expect(buildMeshSettings({ outboundTrafficPolicy: {} }).outboundTrafficPolicy).toBe("REGISTRY_ONLY");
});

test.each<{ yaml: string; gives: Partial<MeshSettings> }>([
  { yaml: "trustDomain: td\ntrustDomainAliases: [old]", gives: { trustDomain: "td", trustDomainAliases: ["old"] } },
  { yaml: "rootNamespace: infra", gives: { rootNamespace: "infra" } },
  {
    yaml: "connectTimeout: 1.5s\nprotocolDetectionTimeout: 100ms\ndnsRefreshRate: 5s",
    gives: { connectTimeoutMs: 1500, protocolDetectionTimeoutMs: 100, dnsRefreshRateMs: 5000 },
  },
  { yaml: "enableAutoMtls: false", gives: { enableAutoMtls: false } },
  { yaml: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}", gives: { outboundTrafficPolicy: "REGISTRY_ONLY" } },
  { yaml: "inboundTrafficPolicy: {mode: LOCALHOST}", gives: { inboundTrafficPolicy: "LOCALHOST" } },
  { yaml: "pathNormalization: {normalization: MERGE_SLASHES}", gives: { pathNormalization: "MERGE_SLASHES" } },
  {
    yaml: "defaultConfig: {proxyHeaders: {preserveHttp1HeaderCase: true}}",
    gives: { preservesHeaderCase: true },
  },
  {
    yaml: "serviceSettings: [{settings: {clusterLocal: true}, hosts: ['*.a']}, {settings: {}, hosts: [b]}]",
    gives: { clusterLocalHosts: ["*.a"] },
  },
  {
    yaml: "tlsDefaults: {ecdhCurves: [P-256], cipherSuites: [ECDHE-RSA-AES256-GCM-SHA384]}",
    gives: { tlsDefaults: { ecdhCurves: ["P-256"], cipherSuites: ["ECDHE-RSA-AES256-GCM-SHA384"] } },
  },
  {
    yaml: "{tlsDefaults: {minProtocolVersion: TLSV1_2}, meshMTLS: {minProtocolVersion: TLSV1_3, cipherSuites: [A]}}",
    gives: {
      tlsDefaults: { ecdhCurves: [], cipherSuites: [], minimumVersion: "TLSv1_2" },
      meshMtls: { cipherSuites: ["A"], minimumVersion: "TLSv1_3" },
    },
  },
  { yaml: "meshMTLS: {minProtocolVersion: TLS_AUTO}", gives: { meshMtls: { cipherSuites: [] } } },
  {
    yaml: "zoneAwareLbSetting: {minClusterSize: 3}",
    gives: { zoneAwareLb: { failover: [], failoverPriority: [], minClusterSize: 3 } },
  },
  { yaml: "localityLbSetting: {enabled: false}", gives: { localityLb: { enabled: false } } },
  {
    yaml: "localityLbSetting: {failoverPriority: [rack]}",
    gives: { localityLb: { enabled: true, failoverPriority: ["rack"] } },
  },
  { yaml: "defaultServiceExportTo: ['.']", gives: { defaultServiceExportTo: ["."] } },
  { yaml: "defaultDestinationRuleExportTo: [a, b]", gives: { defaultDestinationRuleExportTo: ["a", "b"] } },
  { yaml: "proxyHttpPort: 15002", gives: { proxyHttpPort: 15002 } },
  {
    yaml: "accessLogFile: /dev/stdout\naccessLogEncoding: JSON\naccessLogFormat: '{}'",
    gives: { accessLog: { file: "/dev/stdout", format: "{}", encoding: "JSON" } },
  },
])("the file $yaml gives $gives", async ({ yaml, gives }) => {
  const { settings, problem } = await parseMeshSettings(yaml);
  expect(problem).toBeUndefined();
  expect(settings).toMatchObject(gives);
});

test.each([
  { yaml: "trustDomain: [", says: "failed to convert to proto" },
  { yaml: "connectTimeout: soon", says: "connectTimeout" },
  { yaml: "connectTimeout: 0s", says: "connect timeout" },
])("the broken file $yaml is reported, and the settings stay usable", async ({ yaml, says }) => {
  const { settings, problem } = await parseMeshSettings(yaml, { domainSuffix: "mesh.local" });
  expect(problem).toContain(says);
  expect(settings).toMatchObject({ domainSuffix: "mesh.local", rootNamespace: "istio-system" });
});

test("settings cannot be changed", () => {
  const settings = defaultMeshSettings();
  expect(Object.isFrozen(settings) && Object.isFrozen(settings.localityLb) && Object.isFrozen(settings.source)).toBe(
    true,
  );
});
