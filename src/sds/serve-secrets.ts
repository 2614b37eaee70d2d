import { GrpcError, goStatusName, type ServerCall, type ServerWriter } from "../grpc/index.ts";
import type { DeltaDiscoveryRequest, DiscoveryRequest, DiscoveryResponse } from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import type { NameList } from "../xds/name-list.ts";
import { type Decision, nextSubscription, type Subscription } from "../xds/subscription.ts";
import { HEALTH_TYPE, needsNames, SECRET_TYPE } from "../xds/type-urls.ts";
import { checkNameCount, generate } from "./generate.ts";
import { SDS_LABEL } from "./metrics.ts";
import type { SdsContext } from "./sds-context.ts";
import { runSecretStream } from "./secret-stream.ts";

const MAX_NODE_ID = 512;
const MAX_LOGGED = 4096;

type Request = DiscoveryRequest | DeltaDiscoveryRequest;

/**
 * StreamSecrets and DeltaSecrets. Every type that is asked for gets secrets; each response holds only the names it is about. A NACK is
 * logged and changes nothing.
 */
export async function serveSecrets(
  context: SdsContext,
  protocol: XdsProtocol,
  requests: AsyncIterable<Request>,
  call: ServerWriter<Uint8Array>,
): Promise<void> {
  const connection = createConnection(context);
  const options = {
    protocol,
    typeUrl: () => SECRET_TYPE,
    version: () => context.nextVersion(),
    nonce: () => context.nextNonce(),
    deletedText: (name: string) => `failed to generate secret for ${name}: it was deleted`,
  };
  try {
    await runSecretStream(context, call, options, requests, async (request, stream) => {
      // Some agents report a VM's health on any stream they have.
      if (!connection.isIdentified && request.typeUrl === HEALTH_TYPE) {
        context.log.warn("ADS: health information before the first request is ignored");
        return;
      }
      connection.identify(request.node?.id);
      if (request.errorDetail !== undefined) connection.rejected(request.errorDetail);
      const decision = decide(stream.subscription, request);
      if (decision.event === "stale") context.metrics.expiredNonces.inc(SDS_LABEL);
      await stream.apply(decision, "resourceNames" in request ? undefined : request.initialResourceVersions);
    });
  } finally {
    connection.ended();
  }
}

/** Throws INVALID_ARGUMENT for too many names. */
function decide(before: Subscription | undefined, request: Request): Decision {
  if ("resourceNames" in request) {
    checkNameCount(request.resourceNames.length);
    const rules = { needsNames: needsNames(request.typeUrl), toNameList: inOrder, ignoresNackedNames: true };
    return nextSubscription(before, request, rules);
  }
  const toNameList = (names: readonly string[]) => inOrder([...new Set(names)]);
  const decision = nextSubscription(before, request, { needsNames: true, toNameList });
  checkNameCount(decision.subscription?.names.list.length ?? 0);
  return decision;
}

/** Secrets come in the order of the request, a repeated name twice. */
function inOrder(names: readonly string[]): NameList {
  const set = new Set(names);
  return { list: names, has: (name) => set.has(name) };
}

/** FetchSecrets: one request, one response. */
export async function fetchSecrets(
  context: SdsContext,
  request: DiscoveryRequest,
  call: ServerCall,
): Promise<Partial<DiscoveryResponse>> {
  checkNameCount(request.resourceNames.length);
  const secrets = await generate(context, request.resourceNames, call.signal);
  const typeUrl = SECRET_TYPE;
  const resources = secrets.flatMap((secret) =>
    secret === undefined ? [] : [{ typeUrl, value: context.encode(secret) }],
  );
  return { versionInfo: context.nextVersion(), nonce: context.nextNonce(), typeUrl, resources };
}

interface RpcStatus {
  readonly code?: number;
  readonly message?: string;
}

/** Who is at the other end of a stream, known from its first message. */
interface Connection {
  /** Throws INVALID_ARGUMENT when the first message names no node; later ones need not. */
  identify(nodeId: string | undefined): void;
  readonly isIdentified: boolean;
  /** Logs and counts an answer that the client could not use. */
  rejected(status: RpcStatus): void;
  ended(): void;
}

function createConnection(context: SdsContext): Connection {
  // The scope of the reference's stream code, which its control plane shares.
  const log = context.log.scope("ads");
  let id: number | undefined;
  return {
    get isIdentified() {
      return id !== undefined;
    },
    identify: (nodeId) => {
      if (id !== undefined) return;
      if (nodeId === undefined || nodeId === "") throw new GrpcError("INVALID_ARGUMENT", "missing node information");
      // type~address~name.namespace~domain
      if (context.nodeIds === "four-part" && nodeId.split("~").length !== 4) {
        throw new GrpcError(
          "UNKNOWN",
          `missing parts in the service node ${JSON.stringify(nodeId.slice(0, MAX_NODE_ID))}`,
        );
      }
      id = context.nextConnection();
      log.info(`ADS: new connection for node:${id}`);
    },
    rejected: ({ code = 0, message = "" }) => {
      context.metrics.rejects.inc(SDS_LABEL);
      log.warn(`ADS:SDS: ACK ERROR ${id} ${goStatusName(code)}:${message.slice(0, MAX_LOGGED)}`);
    },
    // A unix socket's peer has no address.
    ended: () => id !== undefined && log.info(`ADS: "" ${id} terminated`),
  };
}
