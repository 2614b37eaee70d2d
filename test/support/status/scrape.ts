import { type IncomingHttpHeaders, type RequestListener, request } from "node:http";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { createMetricsHandler, type MetricsHandlerOptions } from "../../../src/status/metrics/metrics-handler.ts";
import { declareScrapeMetrics } from "../../../src/status/metrics.ts";
import { recordingLogger } from "../envoy/life.ts";
import { startHttpServer } from "../net/http-server.ts";
import { startTestStatusServer } from "./server.ts";

export interface ScrapeSetUp {
  /** Envoy's metrics listener; absent: there is none. */
  readonly envoy?: RequestListener | string;
  /** Each is one application. */
  readonly applications?: readonly (RequestListener | string)[];
  readonly agentText?: () => string;
  readonly options?: Partial<MetricsHandlerOptions>;
}

/** A status server that merges real HTTP servers. A string is a body that is sent with the text format's type. */
export async function startScrape(setUp: ScrapeSetUp = {}) {
  await using opened = new CloseStack();
  const serve = async (source: RequestListener | string) => {
    const listener: RequestListener =
      typeof source === "string"
        ? (_request, response) => {
            response.setHeader("Content-Type", "text/plain; version=0.0.4");
            response.end(source);
          }
        : source;
    const server = await startHttpServer(listener);
    opened.add(server);
    return server.port;
  };
  const registry = new MetricRegistry();
  const metrics = declareScrapeMetrics(registry);
  const log = recordingLogger();
  const targets: { port: number; path: string }[] = [];
  for (const application of setUp.applications ?? [])
    targets.push({ port: await serve(application), path: "/metrics" });
  const status = opened.add(await startTestStatusServer(log));
  const handler = createMetricsHandler({
    ...(setUp.envoy !== undefined && { envoy: { host: "127.0.0.1", port: await serve(setUp.envoy) } }),
    targets,
    passesQuery: true,
    agentText: setUp.agentText ?? (() => registry.render()),
    metrics,
    log,
    ...setUp.options,
  });
  status.route("*", "/metrics", handler);
  const owned = opened.move();
  return {
    port: status.port,
    targets,
    log,
    /** One series of the agent's own metrics. */
    own: (series: string) =>
      registry
        .render()
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")[1],
    scrape: (headers: Readonly<Record<string, string>> = {}, path = "/metrics") =>
      fetchBytes(status.port, path, headers),
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

export interface FetchedBytes {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export function fetchBytes(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<FetchedBytes> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, path, headers, method, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => void chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const body = Buffer.concat(chunks);
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body, text: body.toString("utf8") });
      });
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
