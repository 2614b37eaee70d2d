import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeConfigFile } from "./config-files.ts";
import type { StateFolder } from "./state/state-folder.ts";

/** Enough of an Istio object to tell it from others. */
export interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The document as JSON. */
  readonly text: string;
}

export interface ObjectRequest {
  readonly objects: readonly NamedObject[];
  readonly isDelete: boolean;
}

export interface ObjectAnswer {
  /** With --delete only those that had been applied. */
  readonly done: readonly Omit<NamedObject, "text">[];
  /** Who does not follow the objects now, and why. */
  readonly problems: readonly string[];
}

/** Puts objects above those of the mesh file; they stay until the mesh ends or they are taken back. */
export function applyObjects(folder: StateFolder, objects: readonly NamedObject[]): void {
  for (const object of objects) {
    // Keys are for the control plane alone, which runs as this user.
    writeConfigFile(pathOf(folder, object), object.text, object.kind === "Secret" ? 0o600 : 0o644);
  }
}

/** Says which of them had been applied. */
export function takeBackObjects(folder: StateFolder, objects: readonly NamedObject[]): readonly NamedObject[] {
  return objects.filter((object) => {
    const path = pathOf(folder, object);
    const was = existsSync(path);
    rmSync(path, { force: true });
    return was;
  });
}

function pathOf({ applied }: StateFolder, { kind, namespace, name }: NamedObject): string {
  return join(applied, `${[kind, namespace, name].map(encodeURIComponent).join("_")}.yaml`);
}
