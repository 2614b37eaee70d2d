import { printYaml } from "../files/yaml/print-yaml.ts";
import { splitDocuments } from "../files/yaml/split-documents.ts";
import { parseConfigText, readDocument } from "../istio-api/decode/parse-config-text.ts";
import { HttpError } from "../net/http-server/http-types.ts";
import type { Problem } from "./api.ts";
import type { ObjectDocument } from "./sources.ts";

/** A text that was refused, with what is wrong beside which line. */
export class RefusedText extends HttpError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const [first] = problems.filter(({ severity }) => severity === "error");
    super(
      422,
      first === undefined ? "refused" : `${first.line === undefined ? "" : `line ${first.line}: `}${first.message}`,
    );
    this.problems = problems;
  }
}

/** The objects of a text, and what is wrong beside which line. */
export function readText(
  yaml: string,
  namespace: string,
): { readonly documents: readonly ObjectDocument[]; readonly problems: readonly Problem[] } {
  const { objects, problems } = parseConfigText(yaml, { defaultNamespace: namespace });
  const others = splitDocuments(yaml).flatMap(({ text, linesBefore }): readonly Problem[] => {
    const { ignoredKind, credential } = readDocument(text, { defaultNamespace: namespace });
    const kind = credential === undefined ? ignoredKind : "Secret";
    return kind === undefined
      ? []
      : [
          {
            severity: "error",
            message: `kind ${kind} is not one that the console edits`,
            line: linesBefore + 1,
            column: 1,
          },
        ];
  });
  return {
    documents: objects.map(({ kind, namespace: own, name, source }) => ({
      kind,
      namespace: own,
      name,
      document: { ...source, metadata: { ...(source.metadata as object), namespace: own } },
    })),
    problems: [
      ...problems.map(({ severity, message, field, line, column }) => ({
        severity,
        message,
        line,
        column,
        ...(field === "" ? {} : { field }),
      })),
      ...others,
    ],
  };
}

/** Several documents as one text. */
export function textOf(documents: readonly ObjectDocument[]): string {
  return documents.map(({ document }) => `---\n${printYaml(document)}`).join("");
}

export function yamlOf(document: Readonly<Record<string, unknown>> | undefined | null): string | null {
  return document === undefined || document === null ? null : printYaml(plain(document));
}

/** Without what API servers add, in the order that people write. */
function plain({ apiVersion, kind, metadata, spec, ...rest }: Readonly<Record<string, unknown>>): object {
  const { managedFields: _, ...own } = (metadata ?? {}) as Record<string, unknown>;
  const { status: _s, ...others } = rest;
  return { apiVersion, kind, metadata: own, ...others, ...(spec === undefined ? {} : { spec }) };
}
