import { silentLogger } from "../../src/base/logger.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { serveWorkload } from "./workload.ts";

const UNARY = rawMethod("/bench.Echo/Unary", "unary");
const BIDI = rawMethod("/bench.Echo/Bidi", "bidi");

const server = await startGrpcServer({
  listen: { host: "127.0.0.1", port: 0 },
  log: silentLogger,
  methods: [
    implement(UNARY, (request) => request),
    implement(BIDI, async (requests, call) => {
      for await (const request of requests) await call.write(request);
    }),
  ],
});
const channel = createGrpcChannel(`127.0.0.1:${"port" in server.address ? server.address.port : 0}`);

await serveWorkload({
  unary: (message) => channel.unary(UNARY, message),
  async stream(message, count) {
    const call = await channel.bidi(BIDI);
    const writing = (async () => {
      for (let sent = 0; sent < count; sent++) await call.write(message);
      call.end();
    })();
    for await (const _echo of call.responses);
    await writing;
  },
});
