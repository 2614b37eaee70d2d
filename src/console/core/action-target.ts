import type { Action } from "../api.ts";
import { ActionError } from "./action-error.ts";
import type { ServiceInfo } from "./graph-nodes.ts";
import type { Document, ObjectSet, ServiceTarget } from "./rule-documents.ts";

export interface ActionContext extends ObjectSet {
  readonly namespace: string;
  readonly services: readonly ServiceInfo[];
  readonly workloads: readonly ActionWorkload[];
}

export interface ActionWorkload {
  readonly id: string;
  readonly service?: string;
  readonly namespace: string;
  readonly version?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly identity?: string;
}

export interface PlannedAction {
  /** One sentence for people. */
  readonly text: string;
  /** The documents as they are to be; empty for actions on processes. */
  readonly documents: readonly Document[];
}

export type On<Kind extends Action["kind"]> = Extract<Action, { kind: Kind }>;

export function targetOf(
  { service, namespace }: { readonly service: string; readonly namespace?: string },
  { services, namespace: own }: ActionContext,
): ServiceTarget {
  const found =
    services.find(({ host }) => host === service) ??
    services.find((each) => each.name === service && each.namespace === (namespace ?? own)) ??
    (namespace === undefined ? services.find(({ name }) => name === service) : undefined);
  if (found === undefined)
    throw unknown(
      "service",
      service,
      services.map(({ name }) => name),
    );
  return { service: found.name, namespace: found.namespace, host: found.host };
}

export function membersOf(target: ServiceTarget, { workloads }: ActionContext): readonly ActionWorkload[] {
  return workloads.filter(({ service, namespace }) => service === target.service && namespace === target.namespace);
}

export function versionsOf(target: ServiceTarget, context: ActionContext): readonly string[] {
  return [...new Set(membersOf(target, context).flatMap(({ version }) => version ?? []))].sort();
}

export function checkVersions(versions: readonly string[], target: ServiceTarget, context: ActionContext): void {
  const known = versionsOf(target, context);
  if (versions.length === 0)
    throw new ActionError(`no version is named; ${target.service} has ${known.join(", ") || "none"}`);
  for (const version of versions)
    if (!known.includes(version)) throw unknown(`version of ${target.service}`, version, known);
}

/** What the workloads of a service have in common and others do not: the label `app`, or all that are the same. */
export function labelsOf(target: ServiceTarget, context: ActionContext): Readonly<Record<string, string>> {
  const members = membersOf(target, context);
  const [first] = members;
  if (first === undefined) throw new ActionError(`${target.service} has no workloads in the mesh`);
  const common = Object.entries(first.labels).filter(([name, value]) =>
    members.every(({ labels }) => labels[name] === value),
  );
  const app = common.find(([name]) => name === "app");
  if (app === undefined && common.length === 0)
    throw new ActionError(`the workloads of ${target.service} have no label in common`);
  return Object.fromEntries(app === undefined ? common : [app]);
}

export function unknown(what: string, given: string, known: readonly string[]): ActionError {
  return new ActionError(`there is no ${what} ${JSON.stringify(given)}; there are ${known.join(", ") || "none"}`);
}
