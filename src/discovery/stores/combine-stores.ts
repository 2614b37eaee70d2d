import type { AnyConfigObject, ObjectRef } from "../../istio-api/config-object.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { createSnapshotPublisher } from "./config-snapshot.ts";
import type { ObjectPatch } from "./kind-table.ts";

interface CombinedStore extends ConfigStore {
  /** Ends the subscriptions to the parts. */
  close(): void;
}

/** Several stores as one. Of two objects with one name that of the earlier store counts. */
export function combineStores(stores: readonly ConfigStore[]): CombinedStore {
  const publisher = createSnapshotPublisher();
  const find = ({ kind, namespace, name }: ObjectRef): AnyConfigObject | undefined => {
    for (const { snapshot } of stores) {
      const object = snapshot.get(kind, namespace, name);
      if (object !== undefined) return object as AnyConfigObject;
    }
    return undefined;
  };
  const take = (refs: readonly ObjectRef[]) => {
    const problems = stores.flatMap(({ snapshot }) => snapshot.problems);
    publisher.apply(
      refs.map((ref): ObjectPatch => [ref, find(ref)]),
      problems,
    );
  };
  take(stores.flatMap(({ snapshot }) => snapshot.all()));
  const ends = stores.map((store) => store.subscribe(({ changes }) => take(changes)));
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
