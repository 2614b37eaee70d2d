import { join } from "node:path";
import * as protoLoader from "@grpc/proto-loader";

const DEPS = join(import.meta.dirname, "../../../node_modules/@grpc/grpc-js-xds/deps");

/** Envoy's own .proto files, read by another implementation of protobuf. */
export function loadEnvoyProtos(): protoLoader.PackageDefinition {
  return protoLoader.loadSync(
    [
      "envoy/service/secret/v3/sds.proto",
      "envoy/service/discovery/v3/discovery.proto",
      "envoy/extensions/transport_sockets/tls/v3/secret.proto",
    ],
    {
      keepCase: true,
      longs: String,
      oneofs: true,
      defaults: false,
      includeDirs: ["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map((folder) => join(DEPS, folder)),
    },
  );
}

/** Encoder and decoder of one message type of Envoy's API. */
export interface ForeignCodec {
  encode(message: object): Buffer;
  decode(bytes: Buffer): Record<string, unknown>;
}

export function foreignCodec(protos: protoLoader.PackageDefinition, name: string): ForeignCodec {
  // A definition of a message; services and enums have no serializer.
  const found = protos[name] as Partial<protoLoader.MessageTypeDefinition<object, Record<string, unknown>>> | undefined;
  const { serialize, deserialize } = found ?? {};
  if (serialize === undefined || deserialize === undefined)
    throw new Error(`${name} is no message of the loaded protos`);
  return { encode: serialize, decode: deserialize };
}
