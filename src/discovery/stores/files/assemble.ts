import { type AnyConfigObject, objectKey } from "../../../istio-api/config-object.ts";
import type { DocumentProblem } from "../../../istio-api/decode/parse-config-text.ts";
import type { ObjectMap } from "../config-snapshot.ts";
import type { ReadFile } from "./file-reader.ts";

export interface Assembled {
  readonly objects: ObjectMap;
  /** The file each object came from. */
  readonly origins: ReadonlyMap<string, string>;
  readonly problems: readonly DocumentProblem[];
}

export const NOTHING: Assembled = { objects: new Map(), origins: new Map(), problems: [] };

/**
 * The objects of all files. A document that went bad keeps its object as it last was: a half written file or a typing error must not
 * take rules away from running proxies. Objects without creation time are as old as their file when they were first seen in it.
 */
export function assemble(files: readonly ReadFile[], previous: Assembled): Assembled {
  const objects = new Map<string, AnyConfigObject>();
  const origins = new Map<string, string>();
  const problems: DocumentProblem[] = [];
  for (const file of files) {
    if (file.failure !== undefined) problems.push(problemOf(file.path, file.failure));
    for (const { result, linesBefore } of file.documents) {
      problems.push(
        ...result.problems.map((problem) => ({ ...problem, file: file.path, line: problem.line + linesBefore })),
      );
      if (result.object === undefined) continue;
      const key = objectKey(result.object);
      const first = origins.get(key);
      if (first === undefined) {
        objects.set(key, withAge(result.object, file.mtimeMs, previous.objects.get(key)));
        origins.set(key, file.path);
      } else {
        const { kind, namespace, name } = result.object;
        const message = `${kind} ${namespace}/${name} is also in ${first}, which is used`;
        problems.push({ ...problemOf(file.path, message, linesBefore + 1), object: { kind, namespace, name } });
      }
    }
  }
  for (const file of files) keepLastGood(file, previous, objects, origins);
  return { objects, origins, problems };
}

/** A document without a readable name may have been any of the file's objects, so that all of them stay. */
function keepLastGood(
  file: ReadFile,
  previous: Assembled,
  objects: Map<string, AnyConfigObject>,
  origins: Map<string, string>,
): void {
  const bad = file.documents.filter(({ result }) => result.object === undefined && result.ignoredKind === undefined);
  const isUnknown = file.failure !== undefined || bad.some(({ result }) => result.ref === undefined);
  if (bad.length === 0 && !isUnknown) return;
  const named = new Set(bad.flatMap(({ result }) => (result.ref === undefined ? [] : [objectKey(result.ref)])));
  for (const [key, object] of previous.objects) {
    if (objects.has(key) || !isFrom(file.path, previous.origins.get(key)) || !(isUnknown || named.has(key))) continue;
    objects.set(key, object);
    origins.set(key, file.path);
  }
}

/** A directory that cannot be entered stands for all files below it. */
function isFrom(path: string, origin: string | undefined): boolean {
  return origin === path || origin?.startsWith(`${path}/`) === true;
}

function withAge(object: AnyConfigObject, mtimeMs: number, known: AnyConfigObject | undefined): AnyConfigObject {
  if (object.creationTime !== 0) return object;
  // Whole milliseconds: files written by one command should be of one age where the clock allows it.
  const creationTime = known?.creationTime ?? Math.trunc(mtimeMs);
  return Object.freeze({ ...object, creationTime }) as AnyConfigObject;
}

export function problemOf(file: string, message: string, line = 1): DocumentProblem {
  return { file, line, column: 1, severity: "error", message, field: "" };
}
