import { errorMessage } from "../../base/coded-error.ts";
import type { Counter, MetricRegistry } from "../../base/metric-registry.ts";
import { GrpcError, type ServerCall, type ServerWriter } from "../../grpc/index.ts";
import type { DiscoveryRequest, DiscoveryResponse } from "../../protobuf/wire/discovery.ts";
import { createNameList } from "../../xds/name-list.ts";
import type { ResourceSet } from "../../xds/resource-source.ts";
import { createSubscription } from "../../xds/subscription.ts";
import { SECRET_TYPE } from "../../xds/type-urls.ts";
import { generateOne } from "../generate.ts";
import { SDS_LABEL } from "../metrics.ts";
import { createSdsContext, type SdsContext, type SdsContextOptions } from "../sds-context.ts";
import type { SourceSecret } from "../secret-source.ts";
import { runSecretStream, type SecretStreamOptions } from "../secret-stream.ts";
import { type LegacyToken, legacyOutcome, legacyVersion, missingToken } from "./legacy-rules.ts";

export interface LegacyContext extends SdsContext {
  readonly token: LegacyToken;
  readonly legacyMetrics: LegacySdsMetrics | undefined;
  /** The text that stands for the content of a secret. */
  versionText(secret: Pick<SourceSecret, "name" | "version">): string;
}

/** The id is part of a status, which travels in a header. */
const MAX_NODE_ID = 512;

/** A stream as releases 1.7 and 1.8 served it: one name, versions that are times, and no push before the last one was answered. */
export async function legacyStream(
  context: LegacyContext,
  requests: AsyncIterable<DiscoveryRequest>,
  call: ServerWriter<Uint8Array>,
): Promise<void> {
  const metrics = context.legacyMetrics;
  metrics?.activeConnections.inc();
  try {
    await runLegacyStream(context, requests, call);
  } finally {
    metrics?.activeConnections.inc([], -1);
    metrics?.staleConnections.inc();
  }
}

function runLegacyStream(
  context: LegacyContext,
  requests: AsyncIterable<DiscoveryRequest>,
  call: ServerWriter<Uint8Array>,
): Promise<void> {
  let typeUrl = SECRET_TYPE;
  let isUnanswered = false;
  let connection: string | undefined;
  const options: SecretStreamOptions = {
    protocol: "sotw",
    typeUrl: () => typeUrl,
    version: (set) => versionOf(context, set),
    nonce: (set) => {
      isUnanswered = true;
      return versionOf(context, set);
    },
    deletedText: (name) => `Close connection to proxy ${connection}: ${name} is gone`,
    mayPush: () => !isUnanswered,
    onPushed: (hasFailed) => {
      if (!hasFailed) return context.legacyMetrics?.pushes.inc();
      context.legacyMetrics?.pushErrors.inc();
      context.legacyMetrics?.secretUpdateFailures.inc();
    },
  };
  return runSecretStream(context, call, options, requests, async (request, stream) => {
    connection ??= identify(context, request);
    if (request.typeUrl !== "") typeUrl = request.typeUrl;
    isUnanswered = false;
    const isNack = request.errorDetail !== undefined;
    if (isNack) context.metrics.rejects.inc(SDS_LABEL);
    const { resourceNames: names, versionInfo: version } = request;
    const outcome = legacyOutcome({ names, version, isNack }, stream.subscription?.versionSent);
    if (outcome.action === "fail") throw new GrpcError("UNKNOWN", outcome.message);
    // A change that came while the last response was on its way was held back.
    if (outcome.action === "silent") return stream.push();
    await checkToken(context.token, call);
    const subscription = createSubscription(false, createNameList([outcome.name]));
    await stream.apply({ subscription, event: "subscribed", answer: "everything" });
  });
}

function versionOf(context: LegacyContext, { resources: [only] }: ResourceSet): string {
  return only === undefined ? "" : context.versionText(only);
}

/** The unary method of the same releases. */
export async function legacyFetch(
  context: LegacyContext,
  request: DiscoveryRequest,
  call: ServerCall,
): Promise<Partial<DiscoveryResponse>> {
  await checkToken(context.token, call);
  const names = request.resourceNames;
  const outcome = legacyOutcome({ names, version: "", isNack: false }, undefined);
  if (outcome.action === "fail") throw new GrpcError("UNKNOWN", outcome.message);
  const typeUrl = request.typeUrl === "" ? SECRET_TYPE : request.typeUrl;
  const secret = outcome.action === "reply" ? await generateOne(context, outcome.name, call.signal) : undefined;
  return secret === undefined ? { typeUrl } : legacyResponse(context, secret, typeUrl);
}

function legacyResponse(context: LegacyContext, secret: SourceSecret, typeUrl: string): Partial<DiscoveryResponse> {
  const version = context.versionText(secret);
  return { versionInfo: version, nonce: version, typeUrl, resources: [{ typeUrl, value: context.encode(secret) }] };
}

function identify(context: LegacyContext, request: DiscoveryRequest): string {
  const id = request.node?.id ?? "";
  if (id === "") throw new GrpcError("UNKNOWN", "missing Node ID in the first request");
  return `${id.slice(0, MAX_NODE_ID)}-${context.nextConnection()}`;
}

async function checkToken(token: LegacyToken, call: ServerCall): Promise<void> {
  if (token.kind === "metadata") {
    const problem = missingToken(call.metadata);
    if (problem !== undefined) throw new GrpcError("UNKNOWN", problem);
  }
  if (token.kind !== "local") return;
  try {
    await token.read();
  } catch (cause) {
    throw new GrpcError("UNKNOWN", `failed to read the credential token: ${errorMessage(cause)}`, { cause });
  }
}

export interface LegacyOptions {
  readonly token: LegacyToken;
  readonly metrics?: LegacySdsMetrics | undefined;
}

/** Adds the versions that are times: each content gets the moment it was first handed out. */
export function createLegacyContext(
  options: SdsContextOptions,
  { token, metrics: legacyMetrics }: LegacyOptions,
): LegacyContext {
  const latest = new Map<string, { readonly version: string; readonly text: string }>();
  return {
    ...createSdsContext(options),
    token,
    legacyMetrics,
    versionText: ({ name, version }) => {
      const known = latest.get(name);
      if (known?.version === version) return known.text;
      const text = distinctText(known?.text);
      latest.set(name, { version, text });
      return text;
    },
  };
}

/** Two contents within one millisecond still have to differ. */
function distinctText(previous: string | undefined): string {
  let timeMs = Date.now();
  while (legacyVersion(timeMs) === previous) timeMs += 1;
  return legacyVersion(timeMs);
}

/** What releases 1.7 and 1.8 counted. */
interface LegacySdsMetrics {
  readonly pushes: Counter;
  readonly pushErrors: Counter;
  /** Goes down again when a stream ends, though its type is a counter. */
  readonly activeConnections: Counter;
  readonly staleConnections: Counter;
  readonly secretUpdateFailures: Counter;
}

export function declareLegacySdsMetrics(registry: MetricRegistry): LegacySdsMetrics {
  const counter = (name: string, help: string) => registry.counter({ name: `istio_agent_${name}`, help });
  return {
    pushes: counter("total_pushes", "The total number of secret pushes to SDS proxies."),
    pushErrors: counter("total_push_errors", "The total number of failed secret pushes to SDS proxies."),
    activeConnections: counter("total_active_connections", "The total number of active SDS connections."),
    staleConnections: counter("total_stale_connections", "The total number of stale SDS connections."),
    secretUpdateFailures: counter(
      "total_secret_update_failures",
      "The total number of dynamic secret update failures.",
    ),
  };
}
