import { locateYaml } from "../../files/yaml/locate-yaml.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import type { AnyConfigObject, ObjectRef } from "../config-object.ts";
import type { CredentialDocument } from "./decode-credential.ts";
import { type DecodeOptions, decodeObject } from "./decode-object.ts";

/** One thing to mend in a file of rule objects. */
export interface DocumentProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** An error keeps the object out; a warning does not. */
  readonly severity: "error" | "warning";
  readonly message: string;
  /** Member of the document, like `spec.http[0].timeout`; empty for the document as a whole. */
  readonly field: string;
  readonly object?: ObjectRef;
}

/** What one document gave; lines count from the document's own start. */
export interface DocumentResult {
  readonly object?: AnyConfigObject;
  readonly ref?: ObjectRef;
  readonly ignoredKind?: string;
  readonly credential?: CredentialDocument;
  readonly problems: readonly Omit<DocumentProblem, "file">[];
}

export interface ParsedConfig {
  readonly objects: readonly AnyConfigObject[];
  readonly problems: readonly DocumentProblem[];
}

export interface ParseOptions extends Partial<DecodeOptions> {
  /** Named in problems. */
  readonly file?: string;
}

/** All rule objects of a text of YAML or JSON documents. A bad document is a problem and blocks no other. */
export function parseConfigText(
  text: string,
  { file = "input", defaultNamespace = "default" }: ParseOptions = {},
): ParsedConfig {
  const objects: AnyConfigObject[] = [];
  const problems: DocumentProblem[] = [];
  for (const document of splitDocuments(text)) {
    const result = readDocument(document.text, { defaultNamespace });
    if (result.object !== undefined) objects.push(result.object);
    problems.push(
      ...result.problems.map((problem) => ({ ...problem, file, line: problem.line + document.linesBefore })),
    );
  }
  return { objects, problems };
}

/** One document; a pure function of its text, so that results may be cached by the text. */
export function readDocument(text: string, options: DecodeOptions): DocumentResult {
  const parsed = locateYaml(text);
  if ("problem" in parsed) {
    return { problems: [{ ...parsed.position, severity: "error", message: `YAML: ${parsed.problem}`, field: "" }] };
  }
  const { problems, ...decoded } = decodeObject(parsed.data, options);
  const { ref } = decoded;
  return {
    ...decoded,
    problems: problems.map(({ path, message, severity }) => ({
      ...parsed.locate(path),
      severity,
      message,
      field: formatPath(path),
      ...(ref === undefined ? {} : { object: ref }),
    })),
  };
}

/** One problem on one line: `mesh.yaml:12:5: error: spec.http[0].timeout: duration must be greater than 1ms (VirtualService prod/web)`. */
export function describeDocumentProblem({
  file,
  line,
  column,
  severity,
  field,
  message,
  object,
}: DocumentProblem): string {
  const where = field === "" ? "" : `${field}: `;
  const whose = object === undefined ? "" : ` (${object.kind} ${object.namespace}/${object.name})`;
  return `${file}:${line}:${column}: ${severity}: ${where}${message}${whose}`;
}
