import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CodedError } from "../../base/coded-error.ts";
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

const MAX_REDIRECTS = 10;
const MAX_BODY_BYTES = 10_240;

/** Asks the application as the kubelet would have done. Rejects when there is no answer. */
export async function probeHttp(probe: HttpProbe): Promise<HttpProbeResult> {
  const { prober, target } = probe;
  const scheme = prober.isTls ? "https" : "http";
  const path = requestTarget(prober.path);
  const first = `${scheme}://${hostPort(target.host, prober.port)}`;
  let url = new URL(first);
  let requestPath = path;
  const configured = probe.isLocal ? prober.headers : [];
  const incoming = probeHost(probe.rawHeaders, { statusPort: probe.statusPort, probePort: prober.port });
  let host = configuredHost(configured) ?? incoming ?? url.host;
  let referer: string | undefined;
  const headers = forwardedHeaders(probe.rawHeaders, configured);
  for (let hops = 0; ; hops++) {
    const answer = await exchange({
      target: { ...target, host: url.hostname.replace(/^\[|\]$/g, "") },
      port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
      isTls: url.protocol === "https:",
      path: requestPath,
      rawHeaders: ["Host", host, ...headers.list, ...(referer === undefined ? [] : ["Referer", referer])],
      http2: probe.http2,
      connections: probe.connections,
      signal: probe.signal,
    });
    const base = `${url.origin}${requestPath}`;
    const location = redirectOf(answer);
    if (location === undefined) return finish(answer, headers.decompresses);
    const next = URL.canParse(location, base) ? new URL(location, base) : undefined;
    const leadsAway = next !== undefined && !probe.isLocal && next.hostname !== url.hostname;
    if (leadsAway) return finish(answer, headers.decompresses);
    answer.body.destroy();
    if (next === undefined || !/^https?:$/.test(next.protocol))
      throw new ProbeError("redirects", `cannot follow the redirect to ${JSON.stringify(location)}`);
    if (hops === MAX_REDIRECTS - 1) throw new ProbeError("redirects", `stopped after ${MAX_REDIRECTS} redirects`);
    if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(location)) host = next.host;
    referer = base;
    requestPath = next.pathname + next.search;
    url = next;
  }
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

function redirectOf({ status, headers }: ProbeAnswer): string | undefined {
  const { location } = headers;
  const leads = [301, 302, 303, 307, 308].includes(status) && typeof location === "string" && location !== "";
  return leads ? location : undefined;
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
