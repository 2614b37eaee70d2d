import { signal } from "@preact/signals";
import { show } from "../state/selection.ts";

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the editor shows; `new` for one that is not written yet. */
export const opened = signal<ObjectName | "new" | undefined>(undefined);

export function openObject({ kind, namespace, name }: ObjectName): void {
  opened.value = { kind, namespace, name };
  show("objects");
}
