/** What one incremental stream has asked for. */
export interface DeltaSubscription {
  readonly watched: ReadonlySet<string>;
  readonly nonce: string;
}

export interface DeltaRequest {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** What the client still has from a former stream. */
  readonly initialVersions: ReadonlyMap<string, string>;
  readonly responseNonce: string;
}

export interface DeltaOutcome {
  readonly watched: ReadonlySet<string>;
  /** Names to answer, also those asked for again: the protocol lets a client re-subscribe to get a resource anew. */
  readonly answer: readonly string[];
  /** Versions that need not be sent again. */
  readonly known: ReadonlyMap<string, string>;
  readonly isStale: boolean;
}

export const NEW_DELTA_SUBSCRIPTION: DeltaSubscription = { watched: new Set(), nonce: "" };

/** Changes of the subscription count whatever the nonce says; a nonce only tells which answer is acknowledged. */
export function deltaOutcome(subscription: DeltaSubscription, request: DeltaRequest): DeltaOutcome {
  const watched = new Set(subscription.watched);
  for (const name of request.unsubscribe) watched.delete(name);
  for (const name of request.subscribe) watched.add(name);
  const isFirst = subscription.nonce === "";
  return {
    watched,
    answer: [...new Set(request.subscribe)],
    known: isFirst ? request.initialVersions : new Map(),
    isStale: request.responseNonce !== "" && !isFirst && request.responseNonce !== subscription.nonce,
  };
}
