import type { KubernetesClient } from "../client.ts";
import { KubernetesError } from "../kubernetes-error.ts";
import type { ResourceKind } from "../objects.ts";
import type { MessageShape } from "../protobuf/message-shape.ts";
import type { Sweep } from "./object-store.ts";

export interface ListPagesOptions {
  readonly client: KubernetesClient;
  readonly resource: ResourceKind;
  readonly resourceVersion: string;
  readonly shape?: MessageShape | undefined;
  /** A new one begins where the pages do. */
  sweep(): Sweep;
  readonly signal: AbortSignal;
}

const PAGE_SIZE = 500;

/** Everything of a kind, page by page; resolves with its version. A page that has expired costs a read of all at once. */
export async function listPages({
  client,
  resource,
  resourceVersion,
  shape,
  sweep,
  signal,
}: ListPagesOptions): Promise<string> {
  let current = sweep();
  let page = await client.list(resource, { resourceVersion, limit: PAGE_SIZE, shape, signal });
  for (;;) {
    for (const item of page.items) current.add(item);
    const { continueToken } = page;
    if (continueToken === undefined) break;
    page = await client.list(resource, { limit: PAGE_SIZE, continueToken, shape, signal }).catch((failure: unknown) => {
      if (!(failure instanceof KubernetesError) || failure.code !== "gone") throw failure;
      current = sweep();
      return client.list(resource, { resourceVersion: "", shape, signal });
    });
  }
  current.finish();
  return page.resourceVersion;
}
