import { readFileSync } from "node:fs";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { decodeObject, hasErrors } from "../../../src/istio-api/decode/decode-object.ts";
import type { Manifest } from "../kubernetes/apply-objects.ts";
import { type Kubernetes, startKubernetes } from "../kubernetes/start-kubernetes.ts";
import { definitionText } from "./definition-text.ts";
import { documentsOf, rulesBelow, wouldStore } from "./rule-files.ts";

export interface DefinitionComparison {
  /** Objects that both API servers took, or both refused. */
  readonly taken: number;
  readonly refused: number;
  /** What one of them took and the other refused, with its message. */
  readonly differences: readonly {
    readonly object: string;
    readonly onlyBy: "ours" | "theirs";
    readonly message: string;
    /** Whether the validation webhook would refuse it. */
    readonly isInvalid: boolean;
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
        isInvalid: isInvalid(object),
      });
  }
  return { taken, refused, differences };
}

async function startWith(definitions: string, opened: CloseStack): Promise<Kubernetes> {
  const kubernetes = opened.add(await startKubernetes());
  await kubernetes.apply(documentsOf(definitions));
  return kubernetes;
}

function isInvalid(object: Manifest): boolean {
  return hasErrors(decodeObject(object, { defaultNamespace: "default" }).problems);
}
