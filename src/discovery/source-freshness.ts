import { awaySince, type KindFreshness } from "./kubernetes-source.ts";
import type { ShownCluster } from "./remote-clusters/start-remote-clusters.ts";

/** How old what is known of one cluster, or of Consul, is. */
export interface SourceFreshness extends ShownCluster {
  readonly provider: "Kubernetes" | "Consul";
}

/** Of the cluster that the control plane itself reads. */
export function ownFreshness(
  id: string,
  provider: SourceFreshness["provider"],
  kinds: readonly KindFreshness[],
): SourceFreshness {
  const since = awaySince(kinds);
  const isSynced = kinds.length === 0 || kinds.some((kind) => kind.isSynced);
  return {
    id,
    provider,
    secret: "",
    state: isSynced ? (since === undefined ? "synced" : "stale") : "syncing",
    ...(since !== undefined && { awaySince: since }),
    kinds,
  };
}

/** Seconds since the oldest of the last proofs; undefined before the first one. */
export function ageSeconds({ kinds }: Pick<SourceFreshness, "kinds">, nowMs: number): number | undefined {
  const proofs = kinds.flatMap(({ provedAt }) => provedAt ?? []);
  return proofs.length === 0 ? undefined : Math.max(0, nowMs - Math.min(...proofs)) / 1000;
}

/** What an operator should know of a server that is ready nevertheless, a line for each thing. */
export function readinessDetails(sources: readonly SourceFreshness[], nowMs: number): readonly string[] {
  return sources.flatMap((source) => detailsOf(source, nowMs));
}

function detailsOf({ id, state, awaySince: since, kinds, problem }: SourceFreshness, nowMs: number): readonly string[] {
  const cause = problem ?? kinds.find((kind) => kind.problem !== undefined)?.problem ?? "no answer yet";
  if (state === "syncing" || state === "failed") return [`cluster ${id} is not known: ${cause}`];
  if (state !== "synced") {
    const age = since === undefined ? "" : ` for ${Math.round((nowMs - since) / 1000)} s`;
    return [`cluster ${id} is away${age}, its endpoints ${state === "stale" ? "are stale" : "were let go"}: ${cause}`];
  }
  const missing = kinds.filter((kind) => !kind.isSynced || (kind.problem !== undefined && kind.state !== "watching"));
  return [
    ...(problem === undefined ? [] : [`cluster ${id}: ${problem}`]),
    ...missing.map((kind) => `cluster ${id}: ${kind.resource}: ${kind.problem ?? "no answer yet"}`),
  ];
}
