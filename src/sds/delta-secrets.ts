import { errorCode } from "../base/coded-error.ts";
import { GrpcError, type ServerWriter } from "../grpc/index.ts";
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse, Resource } from "../protobuf/wire/discovery.ts";
import { SECRET_TYPE } from "../xds/type-urls.ts";
import { createConnection } from "./connection.ts";
import { type DeltaSubscription, deltaOutcome, NEW_DELTA_SUBSCRIPTION } from "./core/delta-subscription.ts";
import { checkNameCount, createAnswerBudget, generateOne, inBatches } from "./generate.ts";
import { SDS_LABEL } from "./metrics.ts";
import { runStream } from "./run-stream.ts";
import type { SdsContext } from "./sds-context.ts";
import type { SourceSecret } from "./secret-source.ts";
import { send } from "./send.ts";

/** The incremental method: every resource carries its own version, names that do not exist are answered as removed. */
export function deltaSecrets(
  context: SdsContext,
  requests: AsyncIterable<DeltaDiscoveryRequest>,
  call: ServerWriter<Partial<DeltaDiscoveryResponse>>,
): Promise<void> {
  const connection = createConnection(context);
  let subscription: DeltaSubscription = NEW_DELTA_SUBSCRIPTION;

  async function reply(secrets: readonly SourceSecret[], removedResources: readonly string[]): Promise<void> {
    const nonce = context.nextNonce();
    subscription = { ...subscription, nonce };
    const systemVersionInfo = context.nextVersion();
    const resources = secrets.map((secret) => toResource(context, secret));
    await send(context, call, { systemVersionInfo, typeUrl: SECRET_TYPE, nonce, resources, removedResources });
  }

  return runStream(context, requests, call, (watches) => {
    /** Answers what is new to the client; `isKnown` tells what it has. */
    const answer = async (names: readonly string[], isKnown: (name: string, version: string) => boolean) => {
      const spend = createAnswerBudget();
      const found = await inBatches(names, async (name) => {
        const one = await find(context, name, call.signal);
        spend(one.secret);
        return one;
      });
      const secrets = found.flatMap(({ secret }) => (secret === undefined ? [] : [secret]));
      const fresh = secrets.filter(({ name, version }) => !isKnown(name, version));
      const removed = found.flatMap(({ name, secret, unknown }) =>
        unknown || (secret === undefined && watches.wasSent(name)) ? [name] : [],
      );
      for (const { name, version } of secrets) watches.markSent(name, version);
      for (const name of removed) watches.forget(name);
      if (fresh.length > 0 || removed.length > 0) await reply(fresh, removed);
    };
    return {
      onRequest: async (request) => {
        connection.identify(request.node?.id);
        if (request.errorDetail !== undefined) connection.rejected(request.errorDetail);
        const outcome = deltaOutcome(subscription, {
          subscribe: request.resourceNamesSubscribe,
          unsubscribe: request.resourceNamesUnsubscribe,
          initialVersions: request.initialResourceVersions,
          responseNonce: request.responseNonce,
        });
        if (outcome.isStale) context.metrics.expiredNonces.inc(SDS_LABEL);
        checkNameCount(outcome.watched.size);
        subscription = { ...subscription, watched: outcome.watched };
        watches.watch(outcome.watched);
        await answer(outcome.answer, (name, version) => outcome.known.get(name) === version);
      },
      onChanged: (names) =>
        answer(
          names.filter((name) => watches.has(name)),
          (name, version) => watches.isSent(name, version),
        ),
    };
  }).finally(() => connection.ended());
}

interface Found {
  readonly name: string;
  readonly secret: SourceSecret | undefined;
  /** Nobody will ever serve this name. */
  readonly unknown: boolean;
}

async function find(context: SdsContext, name: string, signal: AbortSignal): Promise<Found> {
  try {
    return { name, secret: await generateOne(context, name, signal), unknown: false };
  } catch (thrown) {
    const unknown = thrown instanceof GrpcError && errorCode(thrown.cause) === "unknown-name";
    if (!unknown) throw thrown;
    return { name, secret: undefined, unknown };
  }
}

function toResource(context: SdsContext, secret: SourceSecret): Partial<Resource> {
  const { name, version } = secret;
  return { name, version, resource: { typeUrl: SECRET_TYPE, value: context.encode(secret) } };
}
