import { errorMessage } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { GrpcError, type ServerWriter } from "../../grpc/index.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import { parseSpiffe } from "../../mesh-model/workload-identity.ts";
import { splitHostPort } from "../../net/host-port.ts";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { nextSubscription } from "../../xds/subscription.ts";
import { HEALTH_TYPE } from "../../xds/type-urls.ts";
import { traitsOf, typeOfUrl } from "../../xds/xds-types.ts";
import { namesOf, refusedObjects } from "../status/core/refused-objects.ts";
import type { AdsContext } from "./ads-context.ts";
import { answerDebug, isDebugType } from "./answer-debug.ts";
import { type ConnectionOptions, createConnection, type OwnedConnection } from "./connection.ts";
import { checkIdentity, firstRequest } from "./core/stream-start.ts";
import type { StreamAccount } from "./identity-budgets.ts";
import { encodedNames, MAX_NAMES } from "./request-codec.ts";

type Request = DiscoveryRequest | DeltaDiscoveryRequest;

/** One ADS stream from its admission to its end. */
export async function serveStream(
  protocol: XdsProtocol,
  requests: AsyncIterable<Request>,
  call: ServerWriter<Uint8Array>,
  context: AdsContext,
): Promise<void> {
  const { log, metrics } = context;
  let connection: OwnedConnection | undefined;
  let account: StreamAccount | undefined;
  let isOver = false;
  let close: (reason: string) => void = () => undefined;
  const closed = new Promise<never>((_resolve, reject) => {
    close = (reason) => reject(new GrpcError("UNAVAILABLE", reason));
  });
  context.streams.add(close);
  let admit: (account: StreamAccount | undefined) => void = () => undefined;
  const admitted = new Promise<StreamAccount | undefined>((resolve) => {
    admit = resolve;
  });
  // Nothing is received of a client that is not admitted yet.
  call.beforeMessage = (bytes) =>
    account === undefined ? admitted.then((found) => found?.receive(bytes)) : account.receive(bytes);
  const age = startAge(context.settings.maxAgeMs, () => close("the stream has reached its age: connect again"));
  try {
    const serve = async () => {
      const identities = await context.admit(call);
      if (!isOver) account = openAccount(context, identities[0] ?? peerHost(call.peer.address));
      admit(account);
      for await (const request of requests) {
        if (isOver || account === undefined) return; // ended meanwhile: the connection would never be removed
        connection ??= begin(protocol, request, { call, context, identities, close });
        const room = connection && take(connection, request, { call, context, account });
        if (room !== undefined) await room;
        account.received();
      }
    };
    await Promise.race([serve(), closed]);
  } catch (thrown) {
    if (thrown instanceof GrpcError && connection === undefined && thrown.code !== "CANCELLED") {
      metrics.streamsRefused.inc([thrown.code]);
      log.warn("stream refused", { peer: call.peer.address, code: thrown.code, reason: errorMessage(thrown) });
    }
    throw thrown;
  } finally {
    isOver = true;
    admit(undefined);
    clearTimeout(age);
    context.streams.delete(close);
    account?.close();
    if (connection !== undefined) {
      context.connections.remove(connection);
      context.workloads?.disconnected(connection);
    }
  }
}

function openAccount({ budgets }: AdsContext, identity: string): StreamAccount {
  const account = budgets.open(identity);
  if ("refusal" in account) throw new GrpcError("RESOURCE_EXHAUSTED", account.refusal);
  return account;
}

/** Clients without an identity share the budget of their address. */
function peerHost(address: string): string {
  const split = splitHostPort(address);
  return "problem" in split ? address : split.host;
}

/** A tenth more or less, so that clients that came together do not come back together. */
function startAge(maxAgeMs: number | undefined, onOld: () => void): NodeJS.Timeout | undefined {
  if (maxAgeMs === undefined) return undefined;
  return setTimeout(onOld, Math.min(maxAgeMs * (0.9 + 0.2 * Math.random()), MAX_TIMER_MS));
}

interface StreamParts {
  readonly call: ServerWriter<Uint8Array>;
  readonly context: AdsContext;
}

/** Undefined while the client has not introduced itself. */
function begin(
  protocol: XdsProtocol,
  request: Request,
  parts: StreamParts & { readonly identities: readonly string[]; readonly close: (reason: string) => void },
): OwnedConnection | undefined {
  const { call, context, identities } = parts;
  const first = firstRequest(request);
  if (first.step === "refuse") throw new GrpcError("INVALID_ARGUMENT", first.reason);
  if (first.step === "skip") {
    context.log.warn("health report before the first request is ignored", { peer: call.peer.address });
    return undefined;
  }
  let node: ProxyNode;
  try {
    node = context.parseNode(first.node);
  } catch (thrown) {
    throw new GrpcError("INVALID_ARGUMENT", errorMessage(thrown), { cause: thrown });
  }
  const checked = checkIdentity(identities, node);
  if (identities.length > 0 && context.settings.checksIdentity && "refusal" in checked)
    throw new GrpcError("PERMISSION_DENIED", checked.refusal);
  const id = `${node.id}-${context.connections.nextNumber()}`;
  const connection = createConnection({
    id,
    node,
    protocol,
    peerAddress: call.peer.address,
    identities,
    source: context.source,
    snapshot: context.snapshot,
    write: (chunks, compressed) => call.writeChunks(chunks, compressed),
    compresses: call.offerGzip(),
    openCredentials: context.credentials && credentialsOf(context.credentials, { id, node, checked }),
    close: parts.close,
    sendTimeoutMs: context.settings.sendTimeoutMs,
    metrics: context.metrics,
    log: context.log,
    now: context.now,
  });
  const refusal = context.workloads?.connected(connection);
  if (refusal !== undefined) throw new GrpcError("FAILED_PRECONDITION", refusal);
  context.connections.add(connection);
  return connection;
}

/** Stored credentials go to who the client proved to be, not to who it says it is. */
function credentialsOf(
  source: NonNullable<AdsContext["credentials"]>,
  {
    id,
    node,
    checked,
  }: { readonly id: string; readonly node: ProxyNode; readonly checked: ReturnType<typeof checkIdentity> },
): ConnectionOptions["openCredentials"] {
  const identity = "verified" in checked ? parseSpiffe(checked.verified) : undefined;
  const isRouter = node.type === "router";
  const { clusterId } = node;
  return (view, onChange) => {
    const gateways = () => view().outbound.gateways?.gateways ?? [];
    return source.open({ proxy: id, identity, isRouter, clusterId, gateways }, onChange);
  };
}

/** A promise: the next request has to wait for it. */
function take(
  connection: OwnedConnection,
  request: Request,
  { call, context, account }: StreamParts & { readonly account: StreamAccount },
): Promise<void> | undefined {
  if (request.typeUrl === HEALTH_TYPE) {
    context.log.debug("health report", { proxy: connection.id, error: request.errorDetail?.message });
    context.workloads?.reported(connection, request.errorDetail?.message);
    return undefined;
  }
  if (isDebugType(request.typeUrl)) return answerDebug(connection, request, { call, context });
  const type = typeOfUrl(request.typeUrl);
  if (type === undefined) {
    context.log.debug("no resources of this type", { proxy: connection.id, type: request.typeUrl });
    return undefined;
  }
  const refuse = (reason: string): never => {
    context.log.warn("proxy asks for too much", { proxy: connection.id, reason });
    throw new GrpcError("RESOURCE_EXHAUSTED", reason);
  };
  const sent = encodedNames(request);
  if (sent !== undefined) {
    // Counted as they were sent: what is refused is never decoded, so it takes no memory and little time.
    const reason = excess(type, sent.count) ?? account.foresee(type, sent, connection.protocol);
    if (reason !== undefined) refuse(reason);
  }
  const { needsNames } = traitsOf(type);
  const before = connection.subscriptions.get(type);
  const decision = nextSubscription(before, request, { needsNames, toNameList: context.toNameList });
  const names = decision.subscription?.names;
  const reason = excess(type, names?.list.length ?? 0) ?? account.hold(type, names);
  if (reason !== undefined) refuse(reason);
  const { errorDetail } = request;
  if (decision.event === "nacked" || (decision.event === "subscribed" && errorDetail !== undefined)) {
    const error = errorDetail?.message ?? "";
    const suspects = namesOf(refusedObjects(connection.view(), type, error))
      .slice(0, MAX_SUSPECTS)
      .join(", ");
    const mayComeFrom = suspects === "" ? {} : { mayComeFrom: suspects };
    context.log.warn("proxy refused its configuration", { type, proxy: connection.id, error, ...mayComeFrom });
    context.onRefused?.(connection, type, error);
  }
  connection.apply(type, decision, "resourceNames" in request ? undefined : request.initialResourceVersions);
  return undefined;
}

/** A message that names everything says nothing. */
const MAX_SUSPECTS = 5;

function excess(type: string, asked: number): string | undefined {
  if (asked <= MAX_NAMES) return undefined;
  return `${asked} names of type ${type} are asked for, at most ${MAX_NAMES} are answered`;
}
