// A proxyless gRPC program that counts its calls, as docs/telemetry.md describes it. Told over HTTP what to call.
import { createServer } from "node:http";
import grpc from "@grpc/grpc-js";
import xds from "@grpc/grpc-js-xds";
import { createGrpcMetrics } from "../../../dist/index.js";

xds.register();
const { GRPC_XDS_BOOTSTRAP: bootstrapFile, METRICS_PORT, SERVE_ADDRESS, SERVICE } = process.env;
const metrics = createGrpcMetrics({ grpc, bootstrapFile });
const text = { serialize: (value) => Buffer.from(value), deserialize: (bytes) => bytes.toString() };

if (SERVE_ADDRESS !== undefined) {
  const server = new xds.XdsServer({ interceptors: [metrics.serverInterceptor(SERVICE)] });
  const say = {
    path: "/demo.Echo/Say",
    requestStream: false,
    responseStream: false,
    requestSerialize: text.serialize,
    requestDeserialize: text.deserialize,
    responseSerialize: text.serialize,
    responseDeserialize: text.deserialize,
  };
  server.addService({ say }, { say: ({ request }, done) => done(null, `echo ${request}`) });
  const credentials = new xds.XdsServerCredentials(grpc.ServerCredentials.createInsecure());
  server.bindAsync(SERVE_ADDRESS, credentials, (failure) => {
    if (failure !== null) throw failure;
  });
}

const clients = new Map();
const clientOf = (target) => {
  const credentials = new xds.XdsChannelCredentials(grpc.credentials.createInsecure());
  const made =
    clients.get(target) ?? new grpc.Client(target, credentials, { interceptors: [metrics.clientInterceptor(target)] });
  clients.set(target, made);
  return made;
};

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  if (pathname === "/metrics") return response.end(`${metrics.render()}# TYPE orders_total counter\norders_total 7\n`);
  const deadline = Date.now() + 10_000;
  clientOf(searchParams.get("target")).makeUnaryRequest(
    "/demo.Echo/Say",
    text.serialize,
    text.deserialize,
    "hello",
    new grpc.Metadata(),
    { deadline },
    (failure, answer) => response.end(failure === null ? answer : `failed: ${failure.message}`),
  );
}).listen(Number(METRICS_PORT), "127.0.0.1");
