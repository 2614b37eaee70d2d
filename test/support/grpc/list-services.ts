import * as grpc from "@grpc/grpc-js";
import { message, nested, repeated, string } from "../../../src/protobuf/wire/message.ts";
import { WireWriter } from "../../../src/protobuf/wire/wire-writer.ts";

const LIST_SERVICES = 7;
const answer = message({
  list: nested(6, message({ service: repeated(1, message({ name: string(1) })) })),
});

/** What a server says of itself by gRPC reflection. */
export async function listServices(target: string, version: string): Promise<string[]> {
  const client = new grpc.Client(target, grpc.credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  const raw = (bytes: Buffer) => bytes;
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const call = client.makeBidiStreamRequest<Buffer, Buffer>(path, raw, raw, new grpc.Metadata(), {});
  try {
    const request = new WireWriter();
    request.bytes(LIST_SERVICES, Buffer.from("*"));
    call.write(request.finish());
    const bytes = await new Promise<Buffer>((resolve, reject) => call.once("data", resolve).once("error", reject));
    call.end();
    return answer.decode(bytes).list?.service?.map(({ name = "" }) => name) ?? [];
  } finally {
    call.on("error", () => undefined).cancel();
    client.close();
  }
}
