import { once } from "node:events";
import * as grpc from "@grpc/grpc-js";
import { serveWorkload } from "./workload.ts";

const same = (bytes: Buffer) => bytes;
const codecs = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
const UNARY = { path: "/bench.Echo/Unary", requestStream: false, responseStream: false, ...codecs };
const BIDI = { path: "/bench.Echo/Bidi", requestStream: true, responseStream: true, ...codecs };

const server = new grpc.Server();
server.addService(
  { unary: UNARY, bidi: BIDI },
  {
    unary: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => done(null, call.request),
    bidi(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
      call.on("data", (request: Buffer) => {
        if (call.write(request)) return;
        call.pause();
        call.once("drain", () => call.resume());
      });
      call.on("end", () => call.end());
    },
  },
);
const port = await new Promise<number>((resolve, reject) =>
  server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (failure, bound) =>
    failure === null ? resolve(bound) : reject(failure),
  ),
);
const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());

await serveWorkload({
  unary: (message) =>
    new Promise((resolve, reject) =>
      client.makeUnaryRequest(UNARY.path, same, same, message, (failure, response) =>
        failure === null ? resolve(response) : reject(failure),
      ),
    ),
  async stream(message, count) {
    const call = client.makeBidiStreamRequest(BIDI.path, same, same);
    const reading = once(call.resume(), "end");
    for (let sent = 0; sent < count; sent++) if (!call.write(message)) await once(call, "drain");
    call.end();
    await reading;
  },
});
