import { relative } from "node:path";
import type { ObjectFinding, ObjectSource, StoredObject, StoredObjects } from "../../console/index.ts";
import { readTextLimitedSync } from "../../files/read-file-sync.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import { readDocument } from "../../istio-api/decode/parse-config-text.ts";
import { applyObjects, takeBackObjects } from "../apply-objects.ts";
import { yamlFiles } from "../config-files.ts";
import { stampOf } from "../file-stamp.ts";
import { MeshError } from "../mesh-error.ts";
import type { RunningMesh } from "../running-mesh.ts";
import { rulesFolder } from "../start-upkeep.ts";
import type { StateFolder } from "../state/state-folder.ts";

/** The objects that the control plane of a mesh reads, and the folder above all others that commands and the console write. */
export function createStoredObjects(folder: StateFolder, running: RunningMesh): ObjectSource {
  const files = new Map<string, { readonly stamp: string; readonly found: readonly FoundObject[] }>();
  let last: { readonly revision: string; readonly listed: StoredObjects } | undefined;
  const list = async (): Promise<StoredObjects> => {
    const paths = pathsOf(folder);
    const stamps = paths.map((path) => stampOf(path).text);
    const revision = `${paths.length}:${stamps.join(",")}`;
    if (last?.revision === revision) return last.listed;
    for (const path of files.keys()) if (!paths.includes(path)) files.delete(path);
    const found = paths.flatMap((path, at) => {
      const stamp = stamps[at] ?? "";
      const known = files.get(path);
      if (known?.stamp === stamp) return known.found;
      const read = readFile(path, folder, running);
      files.set(path, { stamp, found: read });
      return read;
    });
    last = { revision, listed: { revision: shortRevision(revision), objects: inForce(found), problems: [] } };
    return last.listed;
  };
  return {
    canWrite: true,
    list,
    async put({ kind, namespace, name, document }) {
      applyObjects(folder, [{ kind, namespace, name, text: `${JSON.stringify(document, null, 1)}\n` }]);
    },
    async remove({ kind, namespace, name }) {
      const taken = takeBackObjects(folder, [{ kind, namespace, name, text: "" }]);
      if (taken.length === 0) throw new MeshError("invalid-file", `${kind} ${namespace}/${name} has not been applied`);
    },
    async analyze(yaml) {
      const { objects } = await list();
      return analyzeStored(objects, yaml, running.plan.namespace);
    },
  };
}

type Found = Omit<StoredObject, "overrides" | "under">;
type FoundObject = Found;

/** By path, which is the order in which they count. */
function pathsOf({ config }: StateFolder): readonly string[] {
  const found = yamlFiles(config);
  return "files" in found ? found.files : [];
}

function readFile(path: string, folder: StateFolder, running: RunningMesh): readonly FoundObject[] {
  let text: string;
  try {
    text = readTextLimitedSync(path);
  } catch {
    // Taken back at this moment.
    return [];
  }
  const place = relative(folder.config, path);
  const isRules = place.startsWith("30-rules/");
  const origin = place.startsWith("10-applied/") ? "applied" : place.startsWith("90-") ? "generated" : "file";
  return splitDocuments(text).flatMap((document, index) => {
    const { object } = readDocument(document.text, { defaultNamespace: running.plan.namespace });
    if (object === undefined) return [];
    const { kind, namespace, name, source } = object;
    const position = sourceOf({ place, index, line: document.linesBefore + 1 }, running);
    return [
      {
        kind,
        namespace,
        name,
        document: { ...source, metadata: { ...(source.metadata as object), namespace } },
        origin,
        ...(position === undefined ? {} : { source: position }),
        ...(isRules ? { text: document.text } : {}),
      } satisfies FoundObject,
    ];
  });
}

/** Where its user has written it: what the control plane reads is a copy. */
function sourceOf(
  { place, index, line }: { readonly place: string; readonly index: number; readonly line: number },
  running: RunningMesh,
): StoredObject["source"] {
  if (place.startsWith("30-rules/"))
    return { file: `${rulesFolder(running) ?? ""}/${place.slice("30-rules/".length)}`, line };
  const inline = running.file.config[index];
  return place.startsWith("20-") && inline !== undefined ? { file: running.fileName, line: inline.line } : undefined;
}

/** Of an object that stands in several files the first counts. */
function inForce(found: readonly FoundObject[]): readonly StoredObject[] {
  const objects = new Map<string, StoredObject>();
  for (const each of found) {
    const key = `${each.kind}/${each.namespace}/${each.name}`;
    const above = objects.get(key);
    if (above === undefined) objects.set(key, { ...each, overrides: false });
    else if (above.under === undefined) objects.set(key, { ...above, overrides: true, under: each.document });
  }
  return [...objects.values()];
}

async function analyzeStored(
  objects: readonly StoredObject[],
  yaml: string,
  namespace: string,
): Promise<readonly ObjectFinding[]> {
  // Most of the control plane's code: loaded by the first page that looks at objects.
  const { analyzeObjects } = await import("../../discovery/index.ts");
  return analyzeObjects({ stored: objects, yaml, namespace });
}

function shortRevision(text: string): string {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (hash * 31 + text.charCodeAt(at)) % 0x1f_ffff_ffff_ff;
  return hash.toString(36);
}
