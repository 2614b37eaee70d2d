import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type AnalyzedObject, readObjects } from "../../src/analyze/index.ts";
import { findingsIn } from "../support/mesh-model/findings-of.ts";
import type { ConformanceCase, ConformanceFamily } from "./family.ts";

/** The folder of the reference's own analyzer tests: `analyzers_test.go` with its table, and `testdata/`. */
export const analyzers: ConformanceFamily = {
  name: "analyze",
  load: async (dir) => readTable(readFileSync(join(dir, "analyzers_test.go"), "utf8")).map((row) => toCase(dir, row)),
};

interface Row {
  readonly name: string;
  readonly files: readonly string[];
  readonly meshFile: string | undefined;
  readonly analyzer: string;
  /** `MessageName Kind namespace/name`. */
  readonly expected: readonly string[];
}

/** By the reference's Go names. */
const OURS: Readonly<Record<string, string>> = {
  "authz.AuthorizationPoliciesAnalyzer": "auth.AuthorizationPoliciesAnalyzer",
  "deployment.ApplicationUIDAnalyzer": "applicationUID.Analyzer",
  "deployment.ServiceAssociationAnalyzer": "deployment.MultiServiceAnalyzer",
  "deprecation.FieldAnalyzer": "deprecation.DeprecationAnalyzer",
  "destinationrule.PodNotSelectedAnalyzer": "destinationrule.SubsetSelectPodAnalyzer",
  "schemaValidation.CollectionValidationAnalyzer(collections.VirtualService)": "schema.ShadowedRouteAnalyzer",
  "serviceentry.ProtocolAddressesAnalyzer": "serviceentry.Analyzer",
};

const UNSUPPORTED: Readonly<Record<string, string>> = {
  "annotations.K8sAnalyzer": "annotations of pods are checked by kube-inject",
  "maturity.AlphaAnalyzer": "annotations of pods are checked by kube-inject",
  "authn.BlockedCIDRsAnalyzer": "a setting of the reference's control plane",
  "conditions.ConditionAnalyzer": "status of the Gateway API",
  "externalcontrolplane.ExternalControlPlaneAnalyzer": "control planes outside of the cluster",
  "k8sgateway.CRDVersionAnalyzer": "the Gateway API is not read",
  "k8sgateway.SelectorAnalyzer": "the Gateway API is not read",
  "multicluster.MeshNetworksAnalyzer": "mesh networks file",
};

/** Where the control plane does otherwise, and the finding would contradict it. */
const DIFFERENT: Readonly<Record<string, string>> = {
  virtualServiceConflictingMeshGatewayHostsWithExportTo:
    "of two wildcard hosts the more specific one is used: *.productpage.d and *.d do not conflict",
};

function readTable(source: string): readonly Row[] {
  const table = source.slice(source.indexOf("var testGrid"), source.indexOf("// regex patterns"));
  return table
    .split(/\n\t\{\n/)
    .slice(1)
    .map((text) => {
      const files = [...(/inputFiles:\s*\[\]string\{([^}]*)\}/.exec(text)?.[1] ?? "").matchAll(/"([^"]+)"/g)];
      const expected = [...text.matchAll(/\{msg\.(\w+), "([^"]+)"\}/g)];
      return {
        name: /name:\s*"([^"]*)"/.exec(text)?.[1] ?? "",
        files: files.map(([, file = ""]) => file),
        meshFile: /meshConfigFile:\s*"([^"]+)"/.exec(text)?.[1],
        analyzer: (/analyzer:\s*&?([\w.]+(?:\([\w.]+\))?)/.exec(text)?.[1] ?? "").replace(/\{\}$/, ""),
        expected: expected.map(([, message = "", object = ""]) => `${message} ${object}`),
      };
    });
}

function toCase(dir: string, row: Row): ConformanceCase {
  const unsupported = UNSUPPORTED[row.analyzer] ?? DIFFERENT[row.name];
  return {
    name: `${row.name} (${row.analyzer})`,
    ...(unsupported !== undefined && { unsupported }),
    run: async () => {
      const found = namesOf(dir, row);
      // An object that is reported twice with one message is one thing to mend.
      const [expected, actual] = [row.expected, found].map((all) => [...new Set(all)].sort());
      const missing = expected?.filter((one) => !actual?.includes(one)) ?? [];
      const more = actual?.filter((one) => !expected?.includes(one)) ?? [];
      if (missing.length + more.length === 0) return undefined;
      return `missing [${missing.join("; ")}], more [${more.join("; ")}]`;
    },
  };
}

function namesOf(dir: string, { files, meshFile, analyzer }: Row): readonly string[] {
  const read = (file: string) => readFileSync(join(dir, file), "utf8");
  const given = files.flatMap((file) => readObjects(read(file), file, "default").objects);
  const unnamed = new Set(given.filter(({ body }) => !hasNamespace(body)).map(title));
  return findingsIn(given, meshFile === undefined ? undefined : read(meshFile))
    .filter((finding) => finding.analyzer === (OURS[analyzer] ?? analyzer))
    .map(({ name, object }) => {
      // The reference leaves out a namespace that the file does not name.
      return `${name} ${unnamed.has(title(object)) ? `${object.kind} ${object.name}` : title(object)}`;
    });
}

function title({ kind, namespace, name }: Pick<AnalyzedObject, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

function hasNamespace({ metadata }: AnalyzedObject["body"]): boolean {
  return (metadata as { readonly namespace?: string } | undefined)?.namespace !== undefined;
}
