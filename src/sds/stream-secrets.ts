import { GrpcError, type ServerWriter } from "../grpc/index.ts";
import type { DiscoveryRequest, DiscoveryResponse } from "../protobuf/wire/discovery.ts";
import { HEALTH_TYPE, SECRET_TYPE } from "../xds/type-urls.ts";
import { createConnection } from "./connection.ts";
import { NEW_SUBSCRIPTION, requestOutcome, type Subscription } from "./core/subscription.ts";
import { checkNameCount, generate, generateOne } from "./generate.ts";
import { SDS_LABEL } from "./metrics.ts";
import { runStream } from "./run-stream.ts";
import type { SdsContext } from "./sds-context.ts";
import type { SourceSecret } from "./secret-source.ts";
import { send } from "./send.ts";

/** The state-of-the-world method: each reply holds only the names it is about. */
export function streamSecrets(
  context: SdsContext,
  requests: AsyncIterable<DiscoveryRequest>,
  call: ServerWriter<Partial<DiscoveryResponse>>,
): Promise<void> {
  const connection = createConnection(context);
  let subscription: Subscription = NEW_SUBSCRIPTION;

  async function reply(secrets: readonly SourceSecret[]): Promise<void> {
    const nonce = context.nextNonce();
    const resources = secrets.map((secret) => ({ typeUrl: SECRET_TYPE, value: context.encode(secret) }));
    subscription = { ...subscription, nonce };
    await send(context, call, { versionInfo: context.nextVersion(), typeUrl: SECRET_TYPE, nonce, resources });
  }

  return runStream(context, requests, call, (watches) => ({
    onRequest: async (request) => {
      if (!connection.isIdentified && request.typeUrl === HEALTH_TYPE) {
        context.log.warn("ADS: health information before the first request is ignored");
        return;
      }
      connection.identify(request.node?.id);
      checkNameCount(request.resourceNames.length);
      const { resourceNames, typeUrl, responseNonce, errorDetail } = request;
      if (errorDetail !== undefined) connection.rejected(errorDetail);
      const isNack = errorDetail !== undefined;
      const outcome = requestOutcome(subscription, { resourceNames, typeUrl, responseNonce, isNack });
      if (outcome.action === "rejected") return;
      if (outcome.action === "stale") return context.metrics.expiredNonces.inc(SDS_LABEL);
      const watched = outcome.action === "unsubscribed" ? undefined : outcome.watched;
      subscription = { ...subscription, watched };
      watches.watch(watched ?? new Set());
      if (outcome.action !== "reply") return;
      const secrets = (await generate(context, outcome.names, call.signal)).filter((secret) => secret !== undefined);
      // Names without a secret yet are answered when it appears; a request without names gets its empty answer.
      if (secrets.length === 0 && outcome.names.length > 0) return;
      for (const { name, version } of secrets) watches.markSent(name, version);
      await reply(secrets);
    },
    onChanged: async (names) => {
      for (const name of names.filter((each) => watches.has(each))) {
        const secret = await generateOne(context, name, call.signal);
        if (secret === undefined) {
          if (watches.wasSent(name))
            throw new GrpcError("UNKNOWN", `failed to generate secret for ${name}: it was deleted`);
          continue;
        }
        if (watches.isSent(name, secret.version)) continue;
        watches.markSent(name, secret.version);
        await reply([secret]);
      }
    },
  })).finally(() => connection.ended());
}
