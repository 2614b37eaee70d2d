import { errorMessage } from "../../base/coded-error.ts";
import { GrpcError, type ServerCall, type ServerWriter } from "../../grpc/index.ts";
import type { DiscoveryRequest, DiscoveryResponse } from "../../protobuf/wire/discovery.ts";
import { SECRET_TYPE } from "../../xds/type-urls.ts";
import { generateOne } from "../generate.ts";
import { SDS_LABEL } from "../metrics.ts";
import { runStream } from "../run-stream.ts";
import type { SdsContext } from "../sds-context.ts";
import type { SourceSecret } from "../secret-source.ts";
import { send } from "../send.ts";
import type { LegacySdsMetrics } from "./legacy-metrics.ts";
import { type LegacyToken, legacyOutcome, missingToken } from "./legacy-rules.ts";

export interface LegacyContext extends SdsContext {
  readonly token: LegacyToken;
  readonly legacyMetrics: LegacySdsMetrics | undefined;
  /** The text that stands for the content of a secret. */
  versionText(secret: SourceSecret): string;
}

/** The id is part of a status, which travels in a header. */
const MAX_NODE_ID = 512;

/** A stream as releases 1.7 and 1.8 served it: one name, versions that are times, and no push before the last one was answered. */
export async function legacyStream(
  context: LegacyContext,
  requests: AsyncIterable<DiscoveryRequest>,
  call: ServerWriter<Partial<DiscoveryResponse>>,
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
  call: ServerWriter<Partial<DiscoveryResponse>>,
): Promise<void> {
  const sent = { version: undefined as string | undefined, typeUrl: SECRET_TYPE, isUnanswered: false };
  const held = new Set<string>();
  let connection: string | undefined;

  async function reply(secret: SourceSecret): Promise<void> {
    sent.version = context.versionText(secret);
    sent.isUnanswered = true;
    await send(context, call, legacyResponse(context, secret, sent.typeUrl));
  }

  return runStream(context, requests, call, (watches) => {
    async function push(name: string): Promise<void> {
      try {
        await pushNewest(name);
        context.legacyMetrics?.pushes.inc();
      } catch (failure) {
        context.legacyMetrics?.pushErrors.inc();
        context.legacyMetrics?.secretUpdateFailures.inc();
        throw failure;
      }
    }

    async function pushNewest(name: string): Promise<void> {
      const secret = await generateOne(context, name, call.signal);
      if (secret === undefined && sent.version === undefined) return;
      if (secret === undefined)
        throw new GrpcError("UNKNOWN", `Close connection to proxy ${connection}: ${name} is gone`);
      if (context.versionText(secret) !== sent.version) await reply(secret);
    }

    return {
      onRequest: async (request) => {
        connection ??= identify(context, request);
        if (request.typeUrl !== "") sent.typeUrl = request.typeUrl;
        sent.isUnanswered = false;
        const isNack = request.errorDetail !== undefined;
        if (isNack) context.metrics.rejects.inc(SDS_LABEL);
        const { resourceNames: names, versionInfo: version } = request;
        const outcome = legacyOutcome({ names, version, isNack }, sent.version);
        if (outcome.action === "fail") throw new GrpcError("UNKNOWN", outcome.message);
        if (outcome.action === "reply") {
          await checkToken(context.token, call);
          watches.watch(new Set([outcome.name]));
          const secret = await generateOne(context, outcome.name, call.signal);
          if (secret !== undefined) await reply(secret);
          return;
        }
        // A change that came while the last answer was on its way was held back, not forgotten.
        const [missed] = held;
        held.clear();
        if (missed !== undefined) await push(missed);
      },
      onChanged: async (names) => {
        const name = names.find((each) => watches.has(each));
        if (name === undefined) return;
        if (sent.isUnanswered) held.add(name);
        else await push(name);
      },
    };
  });
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
