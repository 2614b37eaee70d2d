import { expect, test } from "vitest";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { convertBootstrapOverride } from "./bootstrap-override.ts";
import { buildGrpcBootstrap } from "./grpc-bootstrap.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";

const build = (configPath: string, outputCerts: string) => {
  const inputs = sidecarInputs({
    proxyConfig: { configPath },
    env: { ISTIO_META_foo: "raw", ISTIO_META_GENERATOR: "other" },
    podLabels: 'istio-locality="r.z"\n',
  });
  return buildGrpcBootstrap(inputs, buildNodeDescriptor(inputs), outputCerts);
};

test("the proxyless bootstrap names the agent's socket, the node and the certificates", () => {
  const text = build("./etc/istio/proxy", "./etc/certs");
  const document = JSON.parse(text);
  expect(Object.keys(document)).toEqual([
    "xds_servers",
    "node",
    "certificate_providers",
    "server_listener_resource_name_template",
  ]);
  expect(document.xds_servers).toEqual([
    { server_uri: "unix:///etc/istio/proxy/XDS", channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] },
  ]);
  expect(Object.keys(document.node)).toEqual(["id", "metadata", "locality"]);
  expect(document.node.metadata).toMatchObject({
    GENERATOR: "grpc",
    METADATA_DISCOVERY: "false",
  });
  expect(Object.keys(document.node.metadata)).toEqual(Object.keys(document.node.metadata).sort());
  expect(document.node.metadata).not.toHaveProperty("foo");
  expect(document.node.locality).toEqual({ region: "r", zone: "z" });
  expect(document.certificate_providers.default).toEqual({
    plugin_name: "file_watcher",
    config: {
      certificate_file: "etc/certs/cert-chain.pem",
      private_key_file: "etc/certs/key.pem",
      ca_certificate_file: "etc/certs/root-cert.pem",
      refresh_interval: "900s",
    },
  });
  expect(document.server_listener_resource_name_template).toBe("xds.istio.io/grpc/lds/inbound/%s");
  expect(text).toContain('\n  "node": {');
});

test("without certificate output there is no provider; an absolute path keeps its slash", () => {
  const document = JSON.parse(build("/var/proxy", ""));
  expect(document).not.toHaveProperty("certificate_providers");
  expect(document.xds_servers[0].server_uri).toBe("unix:////var/proxy/XDS");
});

test("without a configuration directory it cannot be made", () => {
  expect(() => build("", "")).toThrow(expect.objectContaining({ code: "invalid-address" }));
});

const OVERRIDE = 'key: value\nip: "[$(HOST_IP)]:8126"\nip2: "$(HOST_IP):8126"\n';

test.each([
  ["169.254.169.254", '{"ip":"[169.254.169.254]:8126","ip2":"169.254.169.254:8126","key":"value"}'],
  ["dead::beef", '{"ip":"[dead::beef]:8126","ip2":"[dead::beef]:8126","key":"value"}'],
  ["", '{"ip":"[]:8126","ip2":":8126","key":"value"}'],
])("an override with host %s becomes %s", (hostIp, json) => {
  expect(convertBootstrapOverride(OVERRIDE, hostIp)).toBe(json);
});

test.each([
  ['{"b": 1, "a": [{"d": true, "c": null}]}', '{"a":[{"c":null,"d":true}],"b":1}'],
  ["on: yes", '{"true":true}'],
  ["", "null"],
])("%j is JSON or YAML 1.1 and comes out compact with sorted keys", (text, json) => {
  expect(convertBootstrapOverride(text, "")).toBe(json);
});

test("text that is not YAML throws", () => {
  expect(() => convertBootstrapOverride("a: [", "")).toThrow();
  expect(() => convertBootstrapOverride("[".repeat(50_000), "")).toThrow("nested too deeply");
});
