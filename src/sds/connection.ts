import { GrpcError, goStatusName } from "../grpc/index.ts";
import { SDS_LABEL } from "./metrics.ts";
import type { SdsContext } from "./sds-context.ts";

const MAX_NODE_ID = 512;
const MAX_LOGGED = 4096;

interface RpcStatus {
  readonly code?: number;
  readonly message?: string;
}

/** Who is at the other end of a stream, known from its first message. */
export interface Connection {
  /** Throws INVALID_ARGUMENT when the first message names no node; later ones need not. */
  identify(nodeId: string | undefined): void;
  readonly isIdentified: boolean;
  /** Logs and counts an answer that the client could not use. */
  rejected(status: RpcStatus): void;
  ended(): void;
}

export function createConnection(context: SdsContext): Connection {
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
