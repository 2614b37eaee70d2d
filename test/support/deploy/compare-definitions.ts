import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { CloseStack } from "../../../src/base/close-stack.ts";
import type { Manifest } from "../kubernetes/apply-objects.ts";
import { objectPath } from "../kubernetes/apply-objects.ts";
import { type Kubernetes, startKubernetes } from "../kubernetes/start-kubernetes.ts";
import { definitionText } from "./definition-text.ts";

export interface DefinitionComparison {
  /** Objects that both API servers took, or both refused. */
  readonly taken: number;
  readonly refused: number;
  /** What one of them took and the other refused, with its message. */
  readonly differences: readonly {
    readonly object: string;
    readonly onlyBy: "ours" | "theirs";
    readonly message: string;
  }[];
}

/**
 * Asks two API servers, one with our definitions and one with those of a file, whether they would store the rule objects below some
 * paths.
 */
export async function compareDefinitions(theirFile: string, paths: readonly string[]): Promise<DefinitionComparison> {
  await using opened = new CloseStack();
  const [ours, theirs] = await Promise.all([
    startWith(definitionText(), opened),
    startWith(readFileSync(theirFile, "utf8"), opened),
  ]);
  const differences: DefinitionComparison["differences"][number][] = [];
  let [taken, refused] = [0, 0];
  for (const { file, object } of paths.flatMap(rulesBelow)) {
    const [own, other] = await Promise.all([wouldStore(ours, object), wouldStore(theirs, object)]);
    if (own === undefined && other === undefined) taken += 1;
    else if (own !== undefined && other !== undefined) refused += 1;
    else
      differences.push({
        object: `${file}: ${object.kind} ${object.metadata?.name}`,
        onlyBy: own === undefined ? "ours" : "theirs",
        message: own ?? other ?? "",
      });
  }
  return { taken, refused, differences };
}

async function startWith(definitions: string, opened: CloseStack): Promise<Kubernetes> {
  const kubernetes = opened.add(await startKubernetes());
  await kubernetes.apply(documentsOf(definitions));
  return kubernetes;
}

/** Undefined when the object would be stored, else why not. Unknown fields are refused, as kubectl asks for. */
async function wouldStore({ api }: Kubernetes, object: Manifest): Promise<string | undefined> {
  const {
    namespace: _,
    generateName,
    name = generateName ?? "unnamed",
    ...rest
  } = { ...object.metadata } as Record<string, unknown>;
  const metadata = { ...rest, name: String(name), namespace: "default" };
  const path = (await objectPath(api, { ...object, metadata })).replace(/\/[^/]*$/, "");
  const { status, body } = await api.ask({
    method: "POST",
    path: `${path}?dryRun=All&fieldValidation=Strict`,
    body: { ...object, metadata },
  });
  return status < 300 ? undefined : String(JSON.parse(body).message);
}

function rulesBelow(path: string): { readonly file: string; readonly object: Manifest }[] {
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => rulesBelow(join(path, name)));
  if (!/\.ya?ml$/.test(path)) return [];
  return documentsOf(readFileSync(path, "utf8"))
    .filter((object) => /^(networking|security|telemetry|extensions)\.istio\.io\//.test(String(object.apiVersion)))
    .map((object) => ({ file: path, object }));
}

/** Files that are templates or input of tests need not be YAML; members that begin with _ are notes of those. */
function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text, { logLevel: "silent" })
    .filter((document) => "errors" in document && document.errors.length === 0)
    .map((document) => document.toJS() as unknown)
    .filter((value) => value !== null && typeof value === "object")
    .map(
      (value) =>
        Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith("_"))) as unknown as Manifest,
    );
}
