import { gzipSync } from "node:zlib";
import { silentLogger } from "../../src/base/logger.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { deltaDiscoveryResponse } from "../../src/protobuf/wire/discovery.ts";

/** Sends `count` responses of `bytes` bytes to each stream, as fast as the reader takes them; with "gzip", compressed for who takes it. */
const [bytes = 0, count = 0] = process.argv.slice(2, 4).map(Number);
const isCompressed = process.argv[4] === "gzip";
const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const PER_RESOURCE = 5000;
const resources = Array.from({ length: Math.max(1, Math.floor(bytes / PER_RESOURCE)) }, (_, index) => ({
  version: "1",
  name: `outbound|80||svc-${index}.ns.svc.cluster.local`,
  resource: { typeUrl, value: isCompressed ? likeConfiguration(index) : Buffer.alloc(PER_RESOURCE, index) },
}));
const message = deltaDiscoveryResponse.encode({ systemVersionInfo: "v", resources, typeUrl, nonce: "n" });

const gzipped = isCompressed ? gzipSync(message, { level: 3 }) : message;

const server = await startGrpcServer({
  listen: { host: "127.0.0.1", port: 0 },
  windowBytes: 1024 * 1024,
  log: silentLogger,
  methods: [
    implement(
      rawMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources", "bidi"),
      async (requests, call) => {
        const isPacked = isCompressed && call.offerGzip();
        for (let sent = 0; sent < count; sent += 1) await call.writeChunks([isPacked ? gzipped : message], isPacked);
        for await (const _ of requests);
      },
    ),
  ],
});
process.send?.({ address: server.address, bytes: message.length, gzipBytes: gzipped.length });

/** Compresses to about a twentieth, as clusters do: a few numbers differ in each. */
function likeConfiguration(index: number): Buffer {
  let text = "";
  for (let part = 0; text.length < PER_RESOURCE; part += 1) {
    const number = (index * 7919 + part * 104_729) % 1_000_003;
    text += `outbound|80||svc-${index}.ns.svc.cluster.local{"connectTimeout":"10s","circuitBreakers":{"max":${number}},"metadata":{}},`;
  }
  return Buffer.from(text.slice(0, PER_RESOURCE));
}
