import type { Logger } from "../../base/logger.ts";
import type { ServerCall } from "../../grpc/index.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView, PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { Node } from "../../protobuf/wire/discovery.ts";
import type { NameList } from "../../xds/name-list.ts";
import type { ResourceSource } from "../../xds/resource-source.ts";
import type { XdsType } from "../../xds/xds-types.ts";
import type { CredentialSource } from "../credentials/create-credential-source.ts";
import type { WorkloadStreams } from "../workloads/start-workload-controller.ts";
import type { Connection } from "./connection.ts";
import type { Connections } from "./connections.ts";
import type { IdentityBudgets } from "./identity-budgets.ts";
import type { AdsMetrics } from "./metrics.ts";

/** A page of the debug pages by its path without `/debug/`; undefined when there is none. */
export type DebugPage = (path: string) => { readonly status: number; readonly body: string } | undefined;

/** What all streams share. */
export interface AdsContext {
  readonly connections: Connections;
  /** How each stream is ended, also of those whose client has not introduced itself. */
  readonly streams: Set<(reason: string) => void>;
  readonly source: ResourceSource<ProxyView>;
  readonly snapshot: () => PushSnapshot;
  /** Throws with a text for the client. */
  readonly parseNode: (node: Partial<Node>) => ProxyNode;
  /** Resolves to who the client proved to be; rejects with the status it is refused with. */
  readonly admit: (call: ServerCall) => Promise<readonly string[]>;
  readonly budgets: IdentityBudgets;
  readonly toNameList: (names: readonly string[]) => NameList;
  readonly debugPage: DebugPage;
  readonly workloads?: WorkloadStreams | undefined;
  /** A client refused what it was sent, in its words. */
  readonly onRefused?: ((connection: Connection, type: XdsType, message: string) => void) | undefined;
  readonly credentials?: Pick<CredentialSource, "open"> | undefined;
  readonly settings: AdsSettings;
  readonly metrics: AdsMetrics;
  readonly log: Logger;
  readonly now: () => number;
}

export interface AdsSettings {
  /** `PILOT_ENABLE_XDS_IDENTITY_CHECK`: a node must be of the namespace and account of its certificate or token. */
  readonly checksIdentity: boolean;
  /** Whose identities may see all of the control plane. */
  readonly systemNamespace: string;
  /** What the server calls itself in debug answers, as JSON. */
  readonly controlPlane: string;
  /** Streams are ended after about this time; undefined: never. */
  readonly maxAgeMs?: number;
  /** A client that does not read what it is sent for so long is sent away; undefined: never. */
  readonly sendTimeoutMs?: number;
}
