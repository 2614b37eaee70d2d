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

/** Puts objects above those of the mesh file; they stay until the mesh ends or they are taken back. */
export function applyObjects(folder: StateFolder, objects: readonly NamedObject[]): void {
  for (const object of objects) writeConfigFile(pathOf(folder, object), object.text);
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
