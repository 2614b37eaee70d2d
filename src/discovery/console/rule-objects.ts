import type { ObjectSource, StoredObject } from "../../console/index.ts";
import { readDocument } from "../../istio-api/decode/parse-config-text.ts";
import { isKind, KINDS, type Kind } from "../../istio-api/kinds.ts";
import { HttpError } from "../../net/http-server/http-types.ts";
import type { Discovery } from "../options.ts";

/** Rules in force; what is put goes into memory, like what the `/config` API gets, and never over an object of a file or a cluster. */
export function createRuleObjects(discovery: Pick<Discovery, "snapshot" | "store">): ObjectSource {
  const isPut = (kind: Kind, namespace: string, name: string) =>
    discovery.store.snapshot.get(kind, namespace, name) !== undefined;
  const list = async () => {
    const { configs, version } = discovery.snapshot;
    const objects = (Object.keys(KINDS) as Kind[]).flatMap((kind) =>
      configs.list(kind).map(({ namespace, name, source }): StoredObject => {
        const origin = isPut(kind, namespace, name)
          ? "applied"
          : source.metadata !== undefined && "uid" in (source.metadata as object)
            ? "cluster"
            : "file";
        return {
          kind,
          namespace,
          name,
          document: { ...source, metadata: { ...(source.metadata as object), namespace } },
          origin,
          overrides: false,
        };
      }),
    );
    const problems = configs.problems.map(({ file, line, message }) => ({ file, line, message }));
    return { revision: version, objects, problems };
  };
  return {
    canWrite: true,
    list,
    async put({ kind, namespace, name, document }) {
      const { object, problems } = readDocument(JSON.stringify(document), { defaultNamespace: namespace });
      if (object === undefined) throw new HttpError(422, problems[0]?.message ?? `kind ${kind} is not known`);
      const isThere = isKind(kind) && discovery.snapshot.configs.get(kind, namespace, name) !== undefined;
      if (isThere && !isPut(kind, namespace, name))
        throw new HttpError(409, `${kind}/${namespace}/${name} comes from a file or a cluster: change it there`);
      discovery.store.add(object);
    },
    async remove({ kind, namespace, name }) {
      if (!isKind(kind) || !discovery.store.delete({ kind, namespace, name }))
        throw new HttpError(404, `there is no ${kind}/${namespace}/${name}`);
    },
    async analyze(yaml) {
      const { analyzeObjects } = await import("../analyze-objects.ts");
      return analyzeObjects({ stored: (await list()).objects, yaml, namespace: "default" });
    },
  };
}
