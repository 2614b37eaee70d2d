import fc from "fast-check";
import { expect, test } from "vitest";
import { foreignCodec, loadEnvoyProtos } from "../../../test/support/sds/envoy-protos.ts";
import { deltaDiscoveryRequest, deltaDiscoveryResponse, discoveryRequest, discoveryResponse } from "./discovery.ts";
import { WireError } from "./wire-reader.ts";

const protos = loadEnvoyProtos();
const foreign = (name: string) => foreignCodec(protos, `envoy.service.discovery.v3.${name}`);

test("a request of Envoy's own protos is read, its node metadata left as bytes", () => {
  const bytes = foreign("DiscoveryRequest").encode({
    version_info: "v",
    node: {
      id: "sidecar~1.1.1.1~a.b~b.svc",
      cluster: "c",
      metadata: { fields: { A: { stringValue: "x", kind: "stringValue" } } },
      locality: { region: "r", zone: "z", sub_zone: "s" },
      user_agent_name: "envoy",
    },
    resource_names: ["default", "ROOTCA"],
    type_url: "t",
    response_nonce: "n",
    error_detail: { code: 13, message: "bad" },
  });
  const request = discoveryRequest.decode(bytes);
  expect(request).toMatchObject({
    versionInfo: "v",
    resourceNames: ["default", "ROOTCA"],
    typeUrl: "t",
    responseNonce: "n",
    errorDetail: { code: 13, message: "bad" },
    node: { id: "sidecar~1.1.1.1~a.b~b.svc", cluster: "c", locality: { subZone: "s" }, userAgentName: "envoy" },
  });
  expect(Buffer.from(request.node?.metadata ?? []).includes("A")).toBe(true);
  // Members this agent does not know are dropped, known ones survive another round.
  expect(discoveryRequest.decode(discoveryRequest.encode(request))).toEqual(request);
});

test("our response is what Envoy's own protos read", () => {
  const bytes = discoveryResponse.encode({
    versionInfo: "v",
    typeUrl: "t",
    nonce: "n",
    resources: [{ typeUrl: "t", value: Buffer.from([8, 1]) }],
  });
  expect(foreign("DiscoveryResponse").decode(bytes)).toEqual({
    version_info: "v",
    type_url: "t",
    nonce: "n",
    resources: [{ type_url: "t", value: Buffer.from([8, 1]) }],
  });
});

test("an incremental request of Envoy's own protos is read", () => {
  const bytes = foreign("DeltaDiscoveryRequest").encode({
    node: { id: "n" },
    type_url: "t",
    resource_names_subscribe: ["a"],
    resource_names_unsubscribe: ["b"],
    initial_resource_versions: { a: "1", c: "2" },
    response_nonce: "x",
    error_detail: { code: 3, message: "m" },
  });
  expect(deltaDiscoveryRequest.decode(bytes)).toMatchObject({
    node: { id: "n" },
    typeUrl: "t",
    resourceNamesSubscribe: ["a"],
    resourceNamesUnsubscribe: ["b"],
    initialResourceVersions: new Map([
      ["a", "1"],
      ["c", "2"],
    ]),
    responseNonce: "x",
    errorDetail: { code: 3, message: "m" },
  });
});

test("our incremental response is what Envoy's own protos read", () => {
  const resource = { typeUrl: "t", value: Buffer.from([1]) };
  const bytes = deltaDiscoveryResponse.encode({
    systemVersionInfo: "s",
    typeUrl: "t",
    nonce: "n",
    resources: [{ name: "a", version: "1", resource }],
    removedResources: ["b"],
  });
  expect(foreign("DeltaDiscoveryResponse").decode(bytes)).toEqual({
    system_version_info: "s",
    type_url: "t",
    nonce: "n",
    resources: [{ name: "a", version: "1", resource: { type_url: "t", value: Buffer.from([1]) } }],
    removed_resources: ["b"],
  });
});

test.each([
  { name: "DiscoveryRequest", codec: discoveryRequest },
  { name: "DeltaDiscoveryRequest", codec: deltaDiscoveryRequest },
])("random bytes give a $name or a wire error, never another throw", ({ codec }) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (input) => {
      try {
        codec.decode(Buffer.from(input));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WireError);
      }
    }),
    { numRuns: 1000 },
  );
});
