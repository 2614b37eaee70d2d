import { HttpError } from "../net/http-server/http-types.ts";
import type {
  ObjectChange,
  ObjectDetail,
  ObjectDifference,
  ObjectList,
  ObjectSchema,
  ObjectSummary,
  Problem,
  SchemaList,
  Validation,
} from "./api.ts";
import { keyOf } from "./core/action-book.ts";
import { listSchemas, schemaOf } from "./object-schemas.ts";
import { RefusedText, readText, textOf, yamlOf } from "./object-text.ts";
import type {
  ObjectDocument,
  ObjectFinding,
  ObjectName,
  ObjectSource,
  StoredObject,
  StoredObjects,
} from "./sources.ts";

export interface ObjectDesk {
  list(): Promise<ObjectList>;
  read(name: ObjectName): Promise<ObjectDetail>;
  validate(yaml: string, analyzes: boolean): Promise<Validation>;
  apply(yaml: string, analyzes: boolean): Promise<ObjectChange>;
  remove(name: ObjectName): Promise<ObjectChange>;
  /** What validation and analyze say of documents that an action would write. */
  problemsOf(documents: readonly ObjectDocument[]): Promise<readonly Problem[]>;
  schemas(): SchemaList;
  schema(kind: string): ObjectSchema;
}

export interface ObjectDeskOptions {
  readonly source: ObjectSource;
  readonly namespace: string;
  /** Which action wrote an object that is in force. */
  actionOf(name: ObjectName): string | undefined;
  /** Somebody has changed objects by hand. */
  onChange(names: readonly ObjectName[]): void;
}

export function createObjectDesk(options: ObjectDeskOptions): ObjectDesk {
  const { source, namespace } = options;
  const findings = memoizeFindings(source);
  const documentsOf = async (yaml: string, analyzes: boolean) => {
    const read = readText(yaml, namespace);
    const hasErrors = read.problems.some(({ severity }) => severity === "error");
    const found = analyzes && !hasErrors ? await analyzed(source, read.documents, yaml) : [];
    return { ...read, problems: [...read.problems, ...found] };
  };
  const differences = async (documents: readonly ObjectDocument[]): Promise<readonly ObjectDifference[]> => {
    const { objects } = await source.list();
    return documents.map(({ kind, namespace: own, name, document }) => ({
      kind,
      namespace: own,
      name,
      before: yamlOf(find(objects, { kind, namespace: own, name })?.document),
      after: yamlOf(document),
    }));
  };
  const mustWrite = () => {
    if (!source.canWrite) throw new HttpError(403, "objects cannot be changed from here");
  };
  return {
    async list() {
      const listed = await source.list();
      const found = await findings(listed.revision);
      return {
        revision: listed.revision,
        objects: listed.objects.map((object) => summaryOf(object, found, options)),
        problems: listed.problems.map(({ file, line, message }) => ({
          severity: "error",
          message,
          source: { file, line },
        })),
      };
    },
    async read(name) {
      const listed = await source.list();
      const object = find(listed.objects, name);
      if (object === undefined) throw new HttpError(404, `there is no ${keyOf(name)}`);
      const yaml = object.text ?? yamlOf(object.document) ?? "";
      return { ...summaryOf(object, await findings(listed.revision), options), yaml };
    },
    async validate(yaml, analyzes) {
      const { documents, problems } = await documentsOf(yaml, analyzes);
      return { problems, objects: documents.map(({ kind, namespace: own, name }) => ({ kind, namespace: own, name })) };
    },
    async apply(yaml, analyzes) {
      mustWrite();
      const { documents, problems } = await documentsOf(yaml, analyzes);
      // What analyze finds may be what the user is about to mend with the next object: only validation refuses.
      const errors = problems.filter(({ severity, code }) => severity === "error" && code === undefined);
      if (errors.length > 0) throw new RefusedText(problems);
      if (documents.length === 0) throw new HttpError(422, "the text holds no Istio object");
      const changes = await differences(documents);
      for (const document of documents) await source.put(document);
      options.onChange(documents);
      return { changes, problems, revision: (await source.list()).revision };
    },
    async remove(name) {
      mustWrite();
      const before = find((await source.list()).objects, name);
      if (before === undefined) throw new HttpError(404, `there is no ${keyOf(name)}`);
      if (before.origin !== "applied") throw new HttpError(409, `${keyOf(name)} ${ORIGINS[before.origin]}`);
      await source.remove(name);
      options.onChange([name]);
      const listed = await source.list();
      const change = {
        ...nameOf(name),
        before: yamlOf(before.document),
        after: yamlOf(find(listed.objects, name)?.document),
      };
      return { changes: [change], problems: [], revision: listed.revision };
    },
    async problemsOf(documents) {
      return (await documentsOf(textOf(documents), true)).problems;
    },
    schemas: listSchemas,
    schema: schemaOf,
  };
}

const ORIGINS = {
  generated: "is made by the mesh: change the mesh file",
  file: "comes from a file: delete it there",
  cluster: "is stored in the cluster: delete it there",
  applied: "was applied",
} as const;

/** Findings in the given text alone: those of other objects are in the list. */
async function analyzed(
  source: ObjectSource,
  documents: readonly ObjectDocument[],
  yaml: string,
): Promise<readonly Problem[]> {
  const found = await source.analyze(yaml);
  const keys = new Set(documents.map(keyOf));
  return found.filter((finding) => keys.has(keyOf(finding))).map(toProblem);
}

function memoizeFindings(source: ObjectSource): (revision: string) => Promise<readonly ObjectFinding[]> {
  let last: { readonly revision: string; readonly found: Promise<readonly ObjectFinding[]> } | undefined;
  return (revision) => {
    if (last?.revision !== revision) last = { revision, found: source.analyze("") };
    return last.found;
  };
}

function summaryOf(
  object: StoredObject,
  findings: readonly ObjectFinding[],
  { actionOf, source }: ObjectDeskOptions,
): ObjectSummary {
  const { kind, namespace, name, document, origin, overrides } = object;
  const action = actionOf(object);
  return {
    kind,
    apiVersion: String(document.apiVersion ?? ""),
    namespace,
    name,
    origin,
    editable: source.canWrite && origin !== "generated",
    overrides,
    ...(object.source === undefined ? {} : { source: object.source }),
    problems: findings.filter((finding) => keyOf(finding) === keyOf(object)).map(toProblem),
    ...(action === undefined ? {} : { action }),
  };
}

function toProblem({ severity, code, message, position }: ObjectFinding): Problem {
  const where = position === undefined ? {} : position.file === "" ? { line: position.line } : { source: position };
  return { severity, code, message, ...where };
}

function nameOf({ kind, namespace, name }: ObjectName): ObjectName {
  return { kind, namespace, name };
}

function find(objects: StoredObjects["objects"], name: ObjectName): StoredObject | undefined {
  return objects.find((object) => keyOf(object) === keyOf(name));
}
