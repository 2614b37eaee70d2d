import type { Node } from "../../../protobuf/wire/discovery.ts";
import { HEALTH_TYPE } from "../../../xds/type-urls.ts";

/** What the first messages of a stream have to bring before the client can be answered. */
export type FirstRequest<NodeMessage> =
  | { readonly step: "skip" }
  | { readonly step: "refuse"; readonly reason: string }
  | { readonly step: "begin"; readonly node: NodeMessage };

/** Only the first request has to carry a node; health reports that come before it are of nobody. */
export function firstRequest(request: {
  readonly typeUrl: string;
  readonly node: Partial<Node> | undefined;
}): FirstRequest<Partial<Node>> {
  if (request.typeUrl === HEALTH_TYPE) return { step: "skip" };
  if (request.node === undefined || (request.node.id ?? "") === "") {
    return { step: "refuse", reason: "missing node information" };
  }
  return { step: "begin", node: request.node };
}
