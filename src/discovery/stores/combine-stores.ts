import { type AnyConfigObject, objectKey } from "../../istio-api/config-object.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { createSnapshotPublisher } from "./config-snapshot.ts";

export interface CombinedStore extends ConfigStore {
  /** Ends the subscriptions to the parts. */
  close(): void;
}

/** Several stores as one. Of two objects with one name that of the earlier store counts. */
export function combineStores(stores: readonly ConfigStore[]): CombinedStore {
  const publisher = createSnapshotPublisher();
  const publish = () => {
    const objects = new Map<string, AnyConfigObject>();
    for (const store of stores) {
      for (const object of store.snapshot.all()) {
        const key = objectKey(object);
        if (!objects.has(key)) objects.set(key, object);
      }
    }
    publisher.publish(
      objects,
      stores.flatMap((store) => store.snapshot.problems),
    );
  };
  publish();
  const ends = stores.map((store) => store.subscribe(publish));
  return {
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    close: () => {
      for (const end of ends) end();
    },
  };
}
