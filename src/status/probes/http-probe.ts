import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CodedError } from "../../base/coded-error.ts";
import { unbracketHost } from "../../net/host-port.ts";
import { followRedirects, type Redirect } from "../../net/http-client/follow-redirects.ts";
import type { AppProber } from "../core/app-probers.ts";
import { configuredHost, forwardedHeaders, probeHost } from "../core/probe-headers.ts";
import { exchange, type ProbeAnswer } from "./http-exchange.ts";
import type { ProbeConnections } from "./probe-connections.ts";
import { hostPort, type ProbeTarget } from "./probe-target.ts";

export interface HttpProbe {
  readonly prober: Extract<AppProber, { kind: "http" }>;
  readonly target: ProbeTarget;
  readonly statusPort: number;
  /** Of the kubelet's request. */
  readonly rawHeaders: readonly string[];
  /** Old generations add the probe's own headers and follow redirects to anywhere. */
  readonly isLocal: boolean;
  readonly http2: boolean;
  readonly connections?: ProbeConnections;
  readonly signal: AbortSignal;
}

export interface HttpProbeResult {
  readonly status: number;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  /** Set when the body is as the application compressed it. */
  readonly contentEncoding: string | undefined;
}

export class ProbeError extends CodedError<"redirects" | "path"> {}

/** The eleventh is not sent. */
const MAX_REQUESTS = 10;
const MAX_BODY_BYTES = 10_240;

/** Asks the application as the kubelet would have done. Rejects when there is no answer. */
export async function probeHttp(probe: HttpProbe): Promise<HttpProbeResult> {
  const { prober, target } = probe;
  const scheme = prober.isTls ? "https" : "http";
  const path = requestTarget(prober.path);
  const first = new URL(`${scheme}://${hostPort(target.host, prober.port)}${path}`);
  const configured = probe.isLocal ? prober.headers : [];
  const incoming = probeHost(probe.rawHeaders, { statusPort: probe.statusPort, probePort: prober.port });
  const headers = forwardedHeaders(probe.rawHeaders, configured);
  let host = configuredHost(configured) ?? incoming ?? first.host;
  let requestPath = path;
  const rules = { maxRequests: MAX_REQUESTS, allows: (redirect: Redirect) => isFollowed(redirect, probe.isLocal) };
  const answer = await followRedirects(first, rules, async (url, by) => {
    const referer = by === undefined ? [] : ["Referer", `${by.from.origin}${requestPath}`];
    if (by !== undefined) {
      if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(by.location)) host = url.host;
      requestPath = url.pathname + url.search;
    }
    const found = await exchange({
      target: { ...target, host: unbracketHost(url.hostname) },
      port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
      isTls: url.protocol === "https:",
      path: requestPath,
      rawHeaders: ["Host", host, ...headers.list, ...referer],
      http2: probe.http2,
      connections: probe.connections,
      signal: probe.signal,
    });
    const { location } = found.headers;
    return {
      ...found,
      location: typeof location === "string" ? location : undefined,
      discard: () => void found.body.destroy(),
    };
  });
  return finish(answer, headers.decompresses);
}

/** A redirect away from the application is its answer, except for old generations. */
function isFollowed({ from, to, location, followed }: Redirect, isLocal: boolean): boolean {
  if (to !== undefined && !isLocal && to.hostname !== from.hostname) return false;
  if (to === undefined || !/^https?:$/.test(to.protocol))
    throw new ProbeError("redirects", `cannot follow the redirect to ${JSON.stringify(location)}`);
  if (followed === MAX_REQUESTS - 1) throw new ProbeError("redirects", `stopped after ${MAX_REQUESTS} redirects`);
  return true;
}

/** What a request line may carry: other characters are escaped, a fragment is not sent. Throws for what is not a path. */
function requestTarget(path: string): string {
  const [sent = ""] = path.split("#");
  if (/[\x00-\x1f\x7f]|^[^?]*%(?![0-9a-f]{2})/i.test(sent))
    throw new ProbeError("path", `invalid character or escape in the path ${JSON.stringify(path)}`);
  const escaped = sent.replace(/[^!-~]+/g, (part) =>
    Buffer.from(part).toString("hex").toUpperCase().replace(/../g, "%$&"),
  );
  return escaped.startsWith("/") ? escaped : `/${escaped}`;
}

/** Redirects that were not followed count as success, without a body. */
async function finish(answer: ProbeAnswer, accepted: boolean): Promise<HttpProbeResult> {
  const isRedirect = answer.status >= 300 && answer.status < 400;
  const encoding = answer.headers["content-encoding"];
  const decompresses = accepted && encoding === "gzip";
  const body = isRedirect ? Buffer.alloc(0) : await readSome(decompresses ? decompress(answer.body) : answer.body);
  answer.body.destroy();
  return {
    status: isRedirect ? 200 : answer.status,
    body,
    contentType: isRedirect ? undefined : answer.headers["content-type"],
    contentEncoding: decompresses || isRedirect || typeof encoding !== "string" ? undefined : encoding,
  };
}

/** Fails when the compressed body does: a mere pipe would wait for its rest for ever. */
function decompress(body: Readable): Readable {
  return pipeline(body, createGunzip(), () => undefined);
}

/** The first bytes of a body that may have no end. Its status has said how the application is: a body that breaks off is only shorter. */
async function readSome(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_BODY_BYTES) break;
    }
  } catch {
    // Broken off, out of time, or not compressed as it says.
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
}
