import * as grpc from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { startGrpcServer } from "../../grpc/server/start-grpc-server.ts";
import { WireReader } from "../../protobuf/wire/wire-reader.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { ADS_FILES } from "../core/ads-descriptors.ts";
import { reflectionMethods } from "./reflection-methods.ts";

const ADS = "envoy.service.discovery.v3.AggregatedDiscoveryService";

/** Asks one question with a foreign client and returns the answer's fields by number. */
async function ask(version: string, field: number, text: string): Promise<Map<number, Buffer[]>> {
  await using server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    methods: reflectionMethods(async () => ADS_FILES, [ADS, "grpc.reflection.v1.ServerReflection"]),
    log: silentLogger,
  });
  const port = "port" in server.address ? server.address.port : 0;
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const raw = (bytes: Buffer) => bytes;
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const call = client.makeBidiStreamRequest(path, raw, raw, new grpc.Metadata(), {});
  const request = new WireWriter();
  request.string(field, text);
  try {
    const answered = new Promise<Buffer>((resolve, reject) => call.once("data", resolve).once("error", reject));
    call.write(Buffer.from(request.finish()));
    return fieldsOf(await answered);
  } finally {
    call.end();
    client.close();
  }
}

function fieldsOf(bytes: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>();
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire === 2) fields.set(field, [...(fields.get(field) ?? []), reader.bytes()]);
    else reader.skip(wire);
  }
  return fields;
}

describe.each(["v1", "v1alpha"])("reflection %s", (version) => {
  test("lists the services, also when the question is an empty text", async () => {
    for (const text of ["*", ""]) {
      const [list = Buffer.alloc(0)] = (await ask(version, 7, text)).get(6) ?? [];
      const names = (fieldsOf(list).get(1) ?? []).map((entry) => fieldsOf(entry).get(1)?.[0]?.toString());
      expect(names).toEqual([ADS, "grpc.reflection.v1.ServerReflection"]);
    }
  });

  test("a symbol's file comes with all it imports, and a foreign library can link them", async () => {
    const [answer = Buffer.alloc(0)] = (await ask(version, 4, `${ADS}.StreamAggregatedResources`)).get(4) ?? [];
    const files = new WireWriter();
    for (const file of fieldsOf(answer).get(1) ?? []) files.bytes(1, file);
    const loaded = loadFileDescriptorSetFromBuffer(Buffer.from(files.finish()));
    expect(loaded[ADS]).toMatchObject({
      StreamAggregatedResources: {
        path: `/${ADS}/StreamAggregatedResources`,
        requestStream: true,
        responseStream: true,
      },
      DeltaAggregatedResources: { path: `/${ADS}/DeltaAggregatedResources` },
    });
    const delta = loaded[ADS] as unknown as Record<
      string,
      { requestSerialize(value: object): Buffer; requestDeserialize(bytes: Buffer): object }
    >;
    const bytes = delta.DeltaAggregatedResources?.requestSerialize({
      type_url: "t",
      initial_resource_versions: [{ key: "a", value: "1" }],
    });
    expect(delta.DeltaAggregatedResources?.requestDeserialize(bytes ?? Buffer.alloc(0))).toMatchObject({
      type_url: "t",
      initial_resource_versions: [{ key: "a", value: "1" }],
    });
  });

  test("a file is found by its name", async () => {
    const [answer = Buffer.alloc(0)] = (await ask(version, 3, "google/rpc/status.proto")).get(4) ?? [];
    expect(fieldsOf(answer).get(1)).toHaveLength(1);
  });

  test.each([
    { field: 3, text: "no/such.proto", says: "File not found: no/such.proto" },
    { field: 4, text: "no.such.Symbol", says: "Symbol not found: no.such.Symbol" },
    { field: 6, text: "envoy.config.core.v3.Node", says: "Extension not found: envoy.config.core.v3.Node" },
  ])("what is not there is reported: $says", async ({ field, text, says }) => {
    const [error = Buffer.alloc(0)] = (await ask(version, field, text)).get(7) ?? [];
    expect(fieldsOf(error).get(2)?.[0]?.toString()).toBe(says);
  });
});
