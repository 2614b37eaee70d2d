import { type AnyConfigObject, type ConfigObject, compareAge, objectKey } from "../../istio-api/config-object.ts";
import type { DocumentProblem } from "../../istio-api/decode/parse-config-text.ts";
import type { Kind } from "../../istio-api/specs/kinds.ts";
import type { ConfigSnapshot } from "../../mesh-model/config-store.ts";

export type ObjectMap = ReadonlyMap<string, AnyConfigObject>;

/** The map must not change afterwards. Lists are sorted when they are first asked for. */
export function createSnapshot(
  version: number,
  objects: ObjectMap,
  problems: readonly DocumentProblem[],
): ConfigSnapshot {
  const lists = new Map<string, readonly ConfigObject[]>();
  const listOf = (key: string, pick: () => readonly ConfigObject[]) => {
    let list = lists.get(key);
    if (list === undefined) {
      list = Object.freeze(pick());
      lists.set(key, list);
    }
    return list;
  };
  let every: readonly AnyConfigObject[] | undefined;
  const kind = (name: Kind) =>
    listOf(name, () => [...objects.values()].filter((object) => object.kind === name).sort(compareAge));
  return Object.freeze({
    version,
    problems: Object.freeze([...problems]),
    get: <Of extends Kind>(name: Of, namespace: string, object: string) =>
      objects.get(objectKey({ kind: name, namespace, name: object })) as ConfigObject<Of> | undefined,
    list: <Of extends Kind>(name: Of, namespace?: string) =>
      (namespace === undefined
        ? kind(name)
        : listOf(`${name}/${namespace}`, () =>
            kind(name).filter((object) => object.namespace === namespace),
          )) as readonly ConfigObject<Of>[],
    all: () => {
      every ??= Object.freeze([...objects.values()]);
      return every;
    },
  });
}
