import * as grpc from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { seriesOf } from "../../test/support/telemetry/read-metrics.ts";
import { CloseStack } from "../base/close-stack.ts";
import { createGrpcMetrics } from "./create-grpc-metrics.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const SERVICE = "echo.shop.svc.cluster.local";
const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Buffer) => bytes.toString() };
const method = (name: string, isStream: boolean) => ({
  path: `/demo.Echo/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: text.serialize,
  requestDeserialize: text.deserialize,
  responseSerialize: text.serialize,
  responseDeserialize: text.deserialize,
});

/** The metrics of a workload as its agent's bootstrap describes it. */
function metricsOf(workload: string) {
  const folder = temporaryFolder();
  opened.add({ [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() });
  const metadata = {
    WORKLOAD_NAME: `${workload}-v1`,
    NAMESPACE: "shop",
    CLUSTER_ID: "c1",
    LABELS: { app: workload, version: "v1" },
  };
  const node = { id: `sidecar~10.0.0.1~${workload}.shop~shop.svc.cluster.local`, metadata };
  return createGrpcMetrics({ grpc, bootstrapFile: folder.write("grpc-bootstrap.json", JSON.stringify({ node })) });
}

async function startEcho(interceptors: grpc.ServerInterceptor[] = []) {
  const server = new grpc.Server({ interceptors });
  server.addService(
    {
      say: method("Say", false),
      refuse: method("Refuse", false),
      hang: method("Hang", false),
      chat: method("Chat", true),
    },
    {
      say: ({ request }: { request: string }, done: (error: null, answer: string) => void) => done(null, request),
      refuse: (_: unknown, done: (error: object) => void) => done({ code: grpc.status.NOT_FOUND, details: "no" }),
      hang: () => undefined,
      chat: (stream: grpc.ServerDuplexStream<string, string>) => {
        stream.on("data", (message: string) => stream.write(message.toUpperCase()));
        stream.on("end", () => stream.end());
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (failure, bound) =>
      failure === null ? resolve(bound) : reject(failure),
    ),
  );
  opened.add({ [Symbol.asyncDispose]: async () => server.forceShutdown() });
  return `127.0.0.1:${port}`;
}

function connect(address: string, interceptors: grpc.Interceptor[] = []) {
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), { interceptors });
  opened.add({ [Symbol.asyncDispose]: async () => client.close() });
  const unary = (name: string, metadata = new grpc.Metadata(), options: grpc.CallOptions = {}) =>
    new Promise<number>((resolve) => {
      const path = `/demo.Echo/${name}`;
      client.makeUnaryRequest(path, text.serialize, text.deserialize, "hello", metadata, options, (failure) =>
        resolve(failure?.code ?? 0),
      );
    });
  return { client, unary };
}

const source = { source_workload: "front-v1", source_workload_namespace: "shop", source_cluster: "c1" };
const destination = {
  destination_workload: "echo-v1",
  destination_canonical_revision: "v1",
  destination_service: SERVICE,
  destination_service_name: "echo",
  destination_service_namespace: "shop",
};

test("client and server count calls, refused ones too, and know each other", async () => {
  const [front, echo] = [metricsOf("front"), metricsOf("echo")];
  const address = await startEcho([echo.serverInterceptor(SERVICE)]);
  const { unary } = connect(address, [front.clientInterceptor("xds:///echo:7070")]);
  expect([await unary("Say"), await unary("Say"), await unary("Refuse")]).toEqual([0, 0, 5]);
  for (const [reporter, metrics, policy] of [
    ["source", front, "unknown"],
    ["destination", echo, "none"],
  ] as const) {
    const labels = {
      reporter,
      ...source,
      ...destination,
      request_protocol: "grpc",
      connection_security_policy: policy,
    };
    const of = (name: string) => seriesOf(metrics.render(), name);
    expect(of("istio_requests_total")).toEqual([
      expect.objectContaining({ ...labels, grpc_response_status: "0", response_code: "200", value: "2" }),
      expect.objectContaining({ ...labels, grpc_response_status: "5", response_code: "200", value: "1" }),
    ]);
    expect(of("istio_request_messages_total").map(({ value }) => value)).toEqual(["2", "1"]);
    expect(of("istio_response_messages_total").map(({ value }) => value)).toEqual(["2", "0"]);
    expect(of("istio_request_duration_milliseconds_count").map(({ value }) => value)).toEqual(["2", "1"]);
  }
});

test("messages of a stream count in both directions", async () => {
  const [front, echo] = [metricsOf("front"), metricsOf("echo")];
  const { client } = connect(await startEcho([echo.serverInterceptor(SERVICE)]), [front.clientInterceptor(SERVICE)]);
  const stream = client.makeBidiStreamRequest("/demo.Echo/Chat", text.serialize, text.deserialize);
  const answers: string[] = [];
  stream.on("data", (answer: string) => answers.push(answer));
  for (const message of ["a", "b", "c"]) stream.write(message);
  stream.end();
  await new Promise((resolve) => stream.once("status", resolve));
  expect(answers).toEqual(["A", "B", "C"]);
  for (const metrics of [front, echo]) {
    for (const name of ["istio_request_messages_total", "istio_response_messages_total"])
      expect(seriesOf(metrics.render(), name)).toEqual([expect.objectContaining({ value: "3" })]);
  }
});

test("a call that nobody answered has code 0, and a caller that went away is said by the server", async () => {
  const [front, echo] = [metricsOf("front"), metricsOf("echo")];
  const address = await startEcho([echo.serverInterceptor(SERVICE)]);
  const { client, unary } = connect(address, [front.clientInterceptor(SERVICE)]);
  // The deadline is for the call alone: the server has to have seen it.
  await new Promise<void>((resolve, reject) => {
    client.waitForReady(Date.now() + 30_000, (failure) => (failure ? reject(failure) : resolve()));
  });
  expect(await unary("Hang", undefined, { deadline: Date.now() + 3000 })).toBe(4);
  expect(seriesOf(front.render(), "istio_requests_total")).toMatchObject([
    {
      response_code: "0",
      grpc_response_status: "4",
      destination_workload: "unknown",
      destination_service_name: "echo",
    },
  ]);
  await expect
    .poll(() => seriesOf(echo.render(), "istio_requests_total"))
    .toMatchObject([
      { response_code: "0", grpc_response_status: "1", response_flags: "DC", source_workload: "front-v1" },
    ]);
});

test("peers without these interceptors are unknown, and programs call them as before", async () => {
  const [front, echo] = [metricsOf("front"), metricsOf("echo")];
  expect(await connect(await startEcho(), [front.clientInterceptor(SERVICE)]).unary("Say")).toBe(0);
  expect(await connect(await startEcho([echo.serverInterceptor(SERVICE)])).unary("Say")).toBe(0);
  expect(seriesOf(front.render(), "istio_requests_total")).toMatchObject([
    { ...source, destination_workload: "unknown" },
  ]);
  expect(seriesOf(echo.render(), "istio_requests_total")).toMatchObject([
    { ...destination, source_workload: "unknown", source_principal: "unknown" },
  ]);
});

test("what a caller says of itself sets no other label, and callers without number cost no memory without end", async () => {
  const echo = metricsOf("echo");
  const { unary } = connect(await startEcho([echo.serverInterceptor(SERVICE)]));
  const as = (peer: string) => {
    const metadata = new grpc.Metadata();
    metadata.set("x-istio-peer", peer);
    return unary("Say", metadata);
  };
  await as('evil" reporter=source -destination_workload @destination=x');
  const [first] = seriesOf(echo.render().replaceAll('\\"', "'"), "istio_requests_total");
  expect(first).toMatchObject({ reporter: "destination", ...destination });
  for (let at = 0; at < 1100; at += 100)
    await Promise.all(Array.from({ length: 100 }, (_, more) => as(`w${at + more}`)));
  const series = seriesOf(echo.render(), "istio_requests_total");
  expect(series.length).toBeLessThanOrEqual(1001);
  expect(series.at(-1)).toMatchObject({ source_workload: "unknown", ...destination });
});

test("a bootstrap that is not there is said with its path", () => {
  expect(() => createGrpcMetrics({ grpc, bootstrapFile: "/nonexistent/grpc-bootstrap.json" })).toThrow(
    /cannot read the gRPC bootstrap "\/nonexistent\/grpc-bootstrap.json": ENOENT.*GRPC_XDS_BOOTSTRAP/,
  );
});
