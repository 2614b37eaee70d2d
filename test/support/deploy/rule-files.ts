import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Manifest, objectPath } from "../kubernetes/apply-objects.ts";
import type { Kubernetes } from "../kubernetes/start-kubernetes.ts";

/** Undefined when the object would be stored, else why not. Unknown fields are refused, as kubectl asks for. */
export async function wouldStore({ api }: Kubernetes, object: Manifest): Promise<string | undefined> {
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

/** The rule objects of all YAML files below a path. */
export function rulesBelow(path: string): { readonly file: string; readonly object: Manifest }[] {
  if (statSync(path).isDirectory()) return readdirSync(path).flatMap((name) => rulesBelow(join(path, name)));
  if (!/\.ya?ml$/.test(path)) return [];
  return documentsOf(readFileSync(path, "utf8"))
    .filter((object) => /^(networking|security|telemetry|extensions)\.istio\.io\//.test(String(object.apiVersion)))
    .map((object) => ({ file: path, object }));
}

/** Files that are templates or input of tests need not be YAML; members that begin with _ are notes of those. */
export function documentsOf(text: string): Manifest[] {
  return parseAllDocuments(text, { logLevel: "silent" })
    .filter((document) => "errors" in document && document.errors.length === 0)
    .map((document) => document.toJS() as unknown)
    .filter((value) => value !== null && typeof value === "object")
    .map(
      (value) =>
        Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith("_"))) as unknown as Manifest,
    );
}
