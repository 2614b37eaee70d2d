import { buildProtoFile, type ProtoFile } from "./file-descriptors.ts";

const DISCOVERY = "envoy.service.discovery.v3";
const CORE = "envoy.config.core.v3";
const ANY = "google.protobuf.Any";
const STATUS = "google.rpc.Status";

const reflection = (version: string): ProtoFile => {
  const own = `grpc.reflection.${version}`;
  return buildProtoFile({
    name: `grpc/reflection/${version}/reflection.proto`,
    package: own,
    messages: {
      ServerReflectionRequest: [
        "string host = 1",
        "string file_by_filename = 3",
        "string file_containing_symbol = 4",
        `${own}.ExtensionRequest file_containing_extension = 5`,
        "string all_extension_numbers_of_type = 6",
        "string list_services = 7",
      ],
      ExtensionRequest: ["string containing_type = 1", "int32 extension_number = 2"],
      ServerReflectionResponse: [
        "string valid_host = 1",
        `${own}.ServerReflectionRequest original_request = 2`,
        `${own}.FileDescriptorResponse file_descriptor_response = 4`,
        `${own}.ExtensionNumberResponse all_extension_numbers_response = 5`,
        `${own}.ListServiceResponse list_services_response = 6`,
        `${own}.ErrorResponse error_response = 7`,
      ],
      FileDescriptorResponse: ["repeated bytes file_descriptor_proto = 1"],
      ExtensionNumberResponse: ["string base_type_name = 1", "repeated int32 extension_number = 2"],
      ListServiceResponse: [`repeated ${own}.ServiceResponse service = 1`],
      ServiceResponse: ["string name = 1"],
      ErrorResponse: ["int32 error_code = 1", "string error_message = 2"],
    },
    services: {
      ServerReflection: [["ServerReflectionInfo", `${own}.ServerReflectionRequest`, `${own}.ServerReflectionResponse`]],
    },
  });
};

/**
 * The aggregated discovery service for tools that ask by reflection. Messages have the fields that matter on this stream; a tool keeps
 * the others as unknown fields, as every protobuf reader does. The node's metadata is a Struct and shown as bytes.
 */
export const ADS_FILES: readonly ProtoFile[] = [
  buildProtoFile({
    name: "google/protobuf/any.proto",
    package: "google.protobuf",
    messages: { Any: ["string type_url = 1", "bytes value = 2"] },
  }),
  buildProtoFile({
    name: "google/rpc/status.proto",
    package: "google.rpc",
    imports: ["google/protobuf/any.proto"],
    messages: { Status: ["int32 code = 1", "string message = 2", `repeated ${ANY} details = 3`] },
  }),
  buildProtoFile({
    name: "envoy/config/core/v3/base.proto",
    package: CORE,
    messages: {
      Locality: ["string region = 1", "string zone = 2", "string sub_zone = 3"],
      Node: [
        "string id = 1",
        "string cluster = 2",
        "bytes metadata = 3",
        `${CORE}.Locality locality = 4`,
        "string user_agent_name = 6",
        "string user_agent_version = 7",
        "repeated string client_features = 10",
      ],
      ControlPlane: ["string identifier = 1"],
    },
  }),
  buildProtoFile({
    name: "envoy/service/discovery/v3/discovery.proto",
    package: DISCOVERY,
    imports: ["envoy/config/core/v3/base.proto", "google/protobuf/any.proto", "google/rpc/status.proto"],
    messages: {
      DiscoveryRequest: [
        "string version_info = 1",
        `${CORE}.Node node = 2`,
        "repeated string resource_names = 3",
        "string type_url = 4",
        "string response_nonce = 5",
        `${STATUS} error_detail = 6`,
      ],
      DiscoveryResponse: [
        "string version_info = 1",
        `repeated ${ANY} resources = 2`,
        "bool canary = 3",
        "string type_url = 4",
        "string nonce = 5",
        `${CORE}.ControlPlane control_plane = 6`,
      ],
      DeltaDiscoveryRequest: [
        `${CORE}.Node node = 1`,
        "string type_url = 2",
        "repeated string resource_names_subscribe = 3",
        "repeated string resource_names_unsubscribe = 4",
        "map<string, string> initial_resource_versions = 5",
        "string response_nonce = 6",
        `${STATUS} error_detail = 7`,
      ],
      DeltaDiscoveryResponse: [
        "string system_version_info = 1",
        `repeated ${DISCOVERY}.Resource resources = 2`,
        "string type_url = 4",
        "string nonce = 5",
        "repeated string removed_resources = 6",
        `${CORE}.ControlPlane control_plane = 7`,
      ],
      Resource: ["string version = 1", `${ANY} resource = 2`, "string name = 3", "repeated string aliases = 4"],
    },
  }),
  buildProtoFile({
    name: "envoy/service/discovery/v3/ads.proto",
    package: DISCOVERY,
    imports: ["envoy/service/discovery/v3/discovery.proto"],
    messages: {},
    services: {
      AggregatedDiscoveryService: [
        ["StreamAggregatedResources", `${DISCOVERY}.DiscoveryRequest`, `${DISCOVERY}.DiscoveryResponse`],
        ["DeltaAggregatedResources", `${DISCOVERY}.DeltaDiscoveryRequest`, `${DISCOVERY}.DeltaDiscoveryResponse`],
      ],
    },
  }),
  reflection("v1"),
  reflection("v1alpha"),
];
