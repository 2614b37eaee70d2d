import type { Logger } from "../../base/logger.ts";
import { defineMethod, type Implementation, implement, rawCodec, type ServerCall } from "../../grpc/index.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView, PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { DeltaDiscoveryRequest, DiscoveryRequest, Node } from "../../protobuf/wire/discovery.ts";
import { ADS_PATHS } from "../../xds/methods.ts";
import { createNameLists } from "../../xds/name-list.ts";
import type { ResourceSource } from "../../xds/resource-source.ts";
import type { CredentialSource } from "../credentials/create-credential-source.ts";
import type { WorkloadStreams } from "../workloads/start-workload-controller.ts";
import type { AdsContext, AdsSettings, DebugPage } from "./ads-context.ts";
import { type Connections, createConnections } from "./connections.ts";
import { createIdentityBudgets, DEFAULT_IDENTITY_LIMITS, type IdentityLimits } from "./identity-budgets.ts";
import type { AdsMetrics } from "./metrics.ts";
import { createDeltaRequestCodec, createSotwRequestCodec } from "./request-codec.ts";
import { serveStream } from "./serve-stream.ts";

export interface AdsServiceOptions {
  readonly source: ResourceSource<ProxyView>;
  /** The newest one, at any time. */
  readonly snapshot: () => PushSnapshot;
  readonly parseNode: (node: Partial<Node>) => ProxyNode;
  readonly admit: (call: ServerCall) => Promise<readonly string[]>;
  readonly debugPage?: DebugPage;
  /** Follows streams of workloads outside a cluster; without it their health reports are ignored. */
  readonly workloads?: WorkloadStreams | undefined;
  /** Stored certificates and keys; without it none are sent. */
  readonly credentials?: Pick<CredentialSource, "open"> | undefined;
  readonly onRefused?: AdsContext["onRefused"];
  readonly identityLimits?: Partial<IdentityLimits>;
  readonly settings: AdsSettings;
  readonly metrics: AdsMetrics;
  readonly log: Logger;
  readonly now?: () => number;
}

export interface AdsService {
  /** To be mounted on gRPC servers. */
  readonly methods: readonly Implementation[];
  readonly connections: Connections;
  /** Ends every stream; clients are expected to come back. */
  close(reason: string): void;
}

const streamResources = defineMethod<"bidi", DiscoveryRequest, Buffer>({
  path: ADS_PATHS.sotw,
  kind: "bidi",
  request: createSotwRequestCodec(),
  response: rawCodec,
});

const deltaResources = defineMethod<"bidi", DeltaDiscoveryRequest, Buffer>({
  path: ADS_PATHS.delta,
  kind: "bidi",
  request: createDeltaRequestCodec(),
  response: rawCodec,
});

/** `envoy.service.discovery.v3.AggregatedDiscoveryService`, state of the world and incremental. */
export function createAdsService(options: AdsServiceOptions): AdsService {
  const connections = createConnections(options.metrics);
  const streams = new Set<(reason: string) => void>();
  const context = {
    ...options,
    connections,
    streams,
    budgets: createIdentityBudgets(
      { ...DEFAULT_IDENTITY_LIMITS, ...options.identityLimits },
      options.metrics.budgetRefusals,
    ),
    toNameList: createNameLists(),
    debugPage: options.debugPage ?? (() => undefined),
    now: options.now ?? (() => performance.timeOrigin + performance.now()),
  };
  return {
    connections,
    close: (reason) => {
      for (const close of streams) close(reason);
    },
    methods: [
      implement(streamResources, (requests, call) => serveStream("sotw", requests, call, context)),
      implement(deltaResources, (requests, call) => serveStream("delta", requests, call, context)),
    ],
  };
}
