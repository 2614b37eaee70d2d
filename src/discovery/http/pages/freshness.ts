import { json, type TextAnswer } from "../../../net/http-server/http-types.ts";
import { ageSeconds } from "../../source-freshness.ts";
import type { DebugContext } from "../debug-context.ts";

/** How old what is known of each cluster is: the last proof of every kind, and what comparisons found and repaired. */
export function freshness({ sources }: DebugContext): TextAnswer {
  const now = Date.now();
  return json(
    sources().map((source) => ({
      cluster: source.id,
      provider: source.provider,
      secretName: source.secret,
      state: source.state,
      ...(source.problem !== undefined && { problem: source.problem }),
      ...(source.awaySince !== undefined && { awaySince: time(source.awaySince) }),
      ageSeconds: ageSeconds(source, now) ?? null,
      kinds: source.kinds.map((kind) => ({
        kind: kind.resource,
        synced: kind.isSynced,
        state: kind.state,
        objects: kind.objects,
        lastProof: kind.provedAt === undefined ? null : time(kind.provedAt),
        ageSeconds: ageSeconds({ kinds: [kind] }, now) ?? null,
        differencesRepaired: kind.repaired,
        ...(kind.resourceVersion !== undefined && { resourceVersion: kind.resourceVersion }),
        ...(kind.problem !== undefined && { problem: kind.problem }),
      })),
    })),
  );
}

/** Clusters whose services are known; the control plane's own has no Secret. */
export function clusterz({ sources, clusterId }: DebugContext): TextAnswer {
  const clusters = sources().filter(({ provider }) => provider === "Kubernetes");
  if (clusters.length === 0) return json([{ id: clusterId, secretName: "", syncStatus: "synced" }]);
  return json(clusters.map(({ id, secret, state }) => ({ id, secretName: secret, syncStatus: state })));
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
