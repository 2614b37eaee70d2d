import { silentLogger } from "../../src/base/logger.ts";
import { implementRaw, startGrpcServer } from "../../src/grpc/index.ts";
import { deltaDiscoveryResponse } from "../../src/protocol/protobuf/discovery.ts";

/** Sends `count` responses of `bytes` bytes to each stream, as fast as the reader takes them. */
const [bytes = 0, count = 0] = process.argv.slice(2).map(Number);
const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const PER_RESOURCE = 5000;
const resources = Array.from({ length: Math.max(1, Math.floor(bytes / PER_RESOURCE)) }, (_, index) => ({
  version: "1",
  name: `outbound|80||svc-${index}.ns.svc.cluster.local`,
  resource: { typeUrl, value: Buffer.alloc(PER_RESOURCE, index) },
}));
const message = deltaDiscoveryResponse.encode({ systemVersionInfo: "v", resources, typeUrl, nonce: "n" });

const server = await startGrpcServer({
  listen: { host: "127.0.0.1", port: 0 },
  windowBytes: 1024 * 1024,
  log: silentLogger,
  methods: [
    implementRaw("/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources", async (call) => {
      const reading = call.readFrames({ start: () => undefined, bytes: () => undefined, end: () => undefined });
      reading.catch(() => undefined);
      for (let sent = 0; sent < count; sent += 1) {
        call.writeFrameStart(message.length);
        await call.writeFrameBytes(message);
      }
      await reading;
    }),
  ],
});
process.send?.({ address: server.address, bytes: message.length });
