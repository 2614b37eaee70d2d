import { errorMessage } from "../base/coded-error.ts";
import type { YamlPath } from "../files/yaml/locate-yaml.ts";
import type { AnalyzedMesh, AnalyzedObject } from "./analyzed-mesh.ts";
import { ANALYZERS, type RunnableAnalyzer } from "./analyzers/list.ts";
import { type Finding, MESSAGES, type MessageName } from "./finding.ts";

const SUPPRESSING_ANNOTATION = "galley.istio.io/analyze-suppress";

export interface AnalyzeOptions {
  /** `IST0103=Pod web-*.prod`: code and object, with wildcards. */
  readonly suppress?: readonly Suppression[];
}

export interface Suppression {
  readonly code: string;
  /** Of `KIND NAME.NAMESPACE`, or `KIND NAME` for objects of the whole cluster. */
  readonly object: RegExp;
}

/** All findings, in the order of files and lines. An analyzer that fails is a finding itself and costs no other one. */
export function analyze(mesh: AnalyzedMesh, { suppress = [] }: AnalyzeOptions = {}): readonly Finding[] {
  const found = ANALYZERS.flatMap((analyzer) => runOne(analyzer, mesh));
  const named = new Set(found.filter(({ name }) => name !== "SchemaWarning").map(placeOf));
  return (
    found
      // Validation warns of some things that have a message of their own here.
      .filter((finding) => finding.name !== "SchemaWarning" || !named.has(placeOf(finding)))
      .filter(({ code, object, subject }) => !isSuppressed(code, object, subject, suppress))
      .map(({ subject: _subject, path: _path, ...finding }) => finding)
      .sort(byPlace)
  );
}

interface Found extends Finding {
  readonly subject: AnalyzedObject;
  readonly path: YamlPath;
}

function placeOf({ object: { kind, namespace, name }, path }: Found): string {
  return JSON.stringify([kind, namespace, name, ...path]);
}

function runOne({ name: analyzer, run }: RunnableAnalyzer, mesh: AnalyzedMesh): readonly Found[] {
  const found: Found[] = [];
  const report = (name: MessageName, subject: AnalyzedObject, message: string, path: YamlPath = []) => {
    const { kind, namespace, name: own, locate } = subject;
    const position = locate?.(path);
    const object = { kind, namespace, name: own };
    found.push({ ...MESSAGES[name], name, analyzer, object, message, subject, path, ...(position && { position }) });
  };
  try {
    run(mesh, report);
  } catch (thrown) {
    const [any] = mesh.objects;
    if (any !== undefined) report("InternalError", any, `analyzer ${analyzer} failed: ${errorMessage(thrown)}`);
  }
  return found;
}

function isSuppressed(
  code: string,
  { kind, namespace, name }: Finding["object"],
  { annotations }: AnalyzedObject,
  suppress: readonly Suppression[],
): boolean {
  const own = (annotations[SUPPRESSING_ANNOTATION] ?? "").split(",").map((entry) => entry.trim());
  if (own.includes("*") || own.includes(code)) return true;
  const title = `${kind} ${name}${namespace === "" ? "" : `.${namespace}`}`;
  return suppress.some((rule) => rule.code === code && rule.object.test(title));
}

function byPlace(a: Finding, b: Finding): number {
  const [place, other] = [a.position, b.position];
  if (place === undefined || other === undefined) return 0;
  if (place.file !== other.file) return place.file < other.file ? -1 : 1;
  return place.line - other.line;
}
