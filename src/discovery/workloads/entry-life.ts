import { REGISTRATION } from "./workload-entry-of.ts";

type Annotations = Readonly<Record<string, string>>;

/** What a replica writes when a workload has connected to it; undefined where a later connection of it is known. */
export function connectedAnnotations(
  annotations: Annotations,
  controller: string,
  connectedAt: number,
): Readonly<Record<string, string | null>> | undefined {
  const known = timeOf(annotations[REGISTRATION.connectedAt]);
  const gone = timeOf(annotations[REGISTRATION.disconnectedAt]);
  if (known !== undefined && (known > connectedAt || (known === connectedAt && isController(annotations, controller))))
    return undefined;
  if (gone !== undefined && gone > connectedAt) return undefined;
  return {
    [REGISTRATION.controller]: controller,
    [REGISTRATION.connectedAt]: new Date(connectedAt).toISOString(),
    [REGISTRATION.disconnectedAt]: null,
  };
}

/** What a replica writes when the last stream of a workload has ended; undefined where another replica has the workload. */
export function disconnectedAnnotations(
  annotations: Annotations,
  controller: string,
  { connectedAt, disconnectedAt }: { readonly connectedAt: number; readonly disconnectedAt: number },
): Readonly<Record<string, string | null>> | undefined {
  const known = timeOf(annotations[REGISTRATION.connectedAt]);
  if (!isController(annotations, controller) || (known !== undefined && known > connectedAt)) return undefined;
  return {
    [REGISTRATION.connectedAt]: null,
    [REGISTRATION.disconnectedAt]: new Date(disconnectedAt).toISOString(),
  };
}

export function isController(annotations: Annotations, controller: string): boolean {
  return annotations[REGISTRATION.controller] === controller;
}

/** Made by a control plane for a workload that connected to it. */
export function isRegistered(annotations: Annotations): boolean {
  return (annotations[REGISTRATION.group] ?? "") !== "";
}

/** No control plane has the workload, as far as the entry says. */
export function isDisconnected(annotations: Annotations): boolean {
  return (
    (annotations[REGISTRATION.connectedAt] ?? "") === "" && (annotations[REGISTRATION.disconnectedAt] ?? "") !== ""
  );
}

/** Whether its stream must have ended: by its age, where streams have a greatest one. Replica and workload were then lost together. */
export function isLost(annotations: Annotations, nowMs: number, maxConnectionAgeMs: number | undefined): boolean {
  const connectedAt = timeOf(annotations[REGISTRATION.connectedAt]);
  return (
    maxConnectionAgeMs !== undefined && connectedAt !== undefined && nowMs - connectedAt > 1.5 * maxConnectionAgeMs
  );
}

function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
