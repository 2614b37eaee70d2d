import { createServer } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { Server } from "node:net";
import { bytes, type MessageType, message, nested, repeated, string } from "../../../../src/protobuf/wire/message.ts";
import type { CollectedSpan } from "./protocol.ts";

const value = message({ text: string(1) });
const attribute = message({ key: string(1), value: nested(2, value) });
const span = message({
  traceId: bytes(1),
  spanId: bytes(2),
  parentSpanId: bytes(4),
  name: string(5),
  attributes: repeated(9, attribute),
});
const scopeSpans = message({ spans: repeated(2, span) });
const resource = message({ attributes: repeated(1, attribute) });
const resourceSpans = message({ resource: nested(1, resource), scopeSpans: repeated(2, scopeSpans) });
const exportRequest = message({ resourceSpans: repeated(1, resourceSpans) });

type Attributes = readonly Partial<MessageType<typeof attribute>>[];

const tagsOf = (attributes: Attributes = []) =>
  Object.fromEntries(attributes.map(({ key = "", value: given }) => [key, given?.text ?? ""]));
const hex = (id: Uint8Array | undefined) => Buffer.from(id ?? []).toString("hex");

function otlpSpans(body: Buffer): readonly CollectedSpan[] {
  return exportRequest.decode(body).resourceSpans.flatMap((of) =>
    (of.scopeSpans ?? []).flatMap(({ spans = [] }) =>
      spans.map(({ traceId, spanId, parentSpanId, name = "", attributes }) => ({
        service: tagsOf(of.resource?.attributes)["service.name"] ?? "",
        trace: hex(traceId),
        id: hex(spanId),
        parent: hex(parentSpanId),
        name,
        tags: tagsOf(attributes),
      })),
    ),
  );
}

interface ZipkinSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly name?: string;
  readonly localEndpoint?: { readonly serviceName?: string };
  readonly tags?: Readonly<Record<string, string>>;
}

function zipkinSpans(body: Buffer): readonly CollectedSpan[] {
  return (JSON.parse(body.toString()) as readonly ZipkinSpan[]).map((given) => ({
    service: given.localEndpoint?.serviceName ?? "",
    trace: given.traceId,
    id: given.id,
    parent: given.parentId ?? "",
    name: given.name ?? "",
    tags: given.tags ?? {},
  }));
}

/** A server that spans are sent to: OTLP over gRPC, OTLP over HTTP, or Zipkin's JSON. Each span is one line of `seen`. */
export function createCollector(kind: "collector-grpc" | "collector-http", seen: string[]): Server {
  const take = (spans: readonly CollectedSpan[]) => seen.push(...spans.map((each) => JSON.stringify(each)));
  if (kind === "collector-grpc") {
    return createHttp2Server().on("stream", (stream: ServerHttp2Stream) => {
      const chunks: Buffer[] = [];
      stream.on("error", () => undefined);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        take(otlpSpans(Buffer.concat(chunks).subarray(5)));
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(Buffer.alloc(5));
      });
    });
  }
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      take(request.url === "/v1/traces" ? otlpSpans(body) : zipkinSpans(body));
      response.writeHead(202).end();
    });
  });
}
