import { isUtf8 } from "node:buffer";
import { type AnyConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import type { CredentialDocument } from "../../istio-api/decode/decode-credential.ts";
import { isKind, KINDS } from "../../istio-api/kinds.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import {
  type HttpAnswer,
  HttpError,
  type HttpHandler,
  type HttpRequest,
  json,
} from "../../net/http-server/http-types.ts";
import { type ConfigParser, fewProblems } from "../parse/config-parser.ts";
import type { MemoryStore, PutProblem } from "../stores/create-memory-store.ts";
import { type AccessOptions, isOfNamespace, requireCaller } from "./access.ts";
import { type CredentialRef, type CredentialStores, credentialApi } from "./credential-api.ts";

export interface ConfigApiOptions extends AccessOptions {
  readonly parser: ConfigParser;
  readonly systemNamespace: string;
  /** Undefined while the server starts. */
  readonly stores: () => ConfigStores | undefined;
}

export interface ConfigStores {
  /** What is in force. */
  readonly store: ConfigStore;
  readonly files: ConfigStore | undefined;
  readonly memory: MemoryStore;
  /** Secrets, held apart from rules. */
  readonly credentials: CredentialStores;
}

/**
 * Rule objects over HTTP: `GET /config` lists, `GET`, `PUT` and `DELETE /config/KIND/NAMESPACE/NAME` handle one, `PUT /config` takes
 * any. `?dryRun=true` only checks. For callers on this machine and for tokens of the system namespace.
 */
export function createConfigApi(options: ConfigApiOptions): HttpHandler {
  return async (call) => {
    const caller = await requireCaller(call, options);
    if (!isOfNamespace(caller, options.systemNamespace)) {
      throw new HttpError(403, `only identities of namespace ${options.systemNamespace} may use this`);
    }
    const stores = options.stores();
    if (stores === undefined) throw new HttpError(503, "the server is starting");
    const ref = parseRef(call.path);
    switch (call.method) {
      case "GET":
      case "HEAD":
        return ref === undefined ? list(stores, call.query) : get(stores, ref);
      case "PUT":
      case "POST":
        return put(stores, await parseBody(call, ref, options.parser), call.query);
      case "DELETE":
        return remove(stores, ref);
      default:
        return {
          ...json({ error: "allowed methods are GET, PUT, POST and DELETE" }, 405),
          headers: { Allow: ALLOWED },
        };
    }
  };
}

const SECRET = "Secret";
const KNOWN_KINDS = [...Object.keys(KINDS), SECRET].join(", ");

/** A rule object, or a Secret, which is held apart from them. */
type Ref = ObjectRef | (CredentialRef & { readonly kind: typeof SECRET });

const ALLOWED = "GET, HEAD, PUT, POST, DELETE";
const MAX_BODY_BYTES = 4 * 1024 * 1024;

function list({ store, files, credentials }: ConfigStores, query: URLSearchParams): HttpAnswer {
  const [kind, namespace] = [query.get("kind"), query.get("namespace")];
  const secrets = kind === null || kind === SECRET ? credentialApi.list(credentials, namespace) : [];
  if (kind === SECRET) return json({ items: secrets, problems: [] });
  if (kind !== null && !isKind(kind)) throw unknownKind(kind);
  const items = store.snapshot
    .all()
    .filter((object) => kind === null || object.kind === kind)
    .filter((object) => namespace === null || object.namespace === namespace)
    .map((object) => show(object, files))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
  return json({ items: [...items, ...secrets], problems: store.snapshot.problems });
}

function get({ store, files, credentials }: ConfigStores, ref: Ref): HttpAnswer {
  if (ref.kind === SECRET) return credentialApi.get(credentials, ref);
  const object = store.snapshot.get(ref.kind, ref.namespace, ref.name) as AnyConfigObject | undefined;
  if (object === undefined) throw new HttpError(404, `there is no ${objectKey(ref)}`);
  return json(show(object, files).item);
}

type ParsedBody =
  | {
      readonly object: AnyConfigObject;
      /** Warnings. */
      readonly problems: readonly PutProblem[];
    }
  | { readonly credential: CredentialDocument };

function put({ files, memory, credentials }: ConfigStores, body: ParsedBody, query: URLSearchParams): HttpAnswer {
  if ("credential" in body) return credentialApi.put(credentials, body.credential, query.get("dryRun") === "true");
  const { object, problems } = body;
  if (files?.snapshot.get(object.kind, object.namespace, object.name) !== undefined) {
    throw new HttpError(409, `${objectKey(object)} comes from a file: change it there`);
  }
  const stored = query.get("dryRun") === "true" ? { object, created: false } : memory.add(object);
  return json({ object: show(stored.object, files).item, problems }, stored.created ? 201 : 200);
}

function remove({ memory, files, credentials }: ConfigStores, ref: Ref | undefined): HttpAnswer {
  if (ref === undefined) throw new HttpError(400, "the path has to be /config/KIND/NAMESPACE/NAME");
  if (ref.kind === SECRET) return credentialApi.remove(credentials, ref);
  if (files?.snapshot.get(ref.kind, ref.namespace, ref.name) !== undefined) {
    throw new HttpError(409, `${objectKey(ref)} comes from a file: delete it there`);
  }
  if (!memory.delete(ref)) throw new HttpError(404, `there is no ${objectKey(ref)}`);
  return { status: 204, body: "" };
}

/** Undefined for `/config` itself. */
function parseRef(path: string): Ref | undefined {
  const parts = path
    .split("/")
    .slice(2)
    .filter((part) => part !== "")
    .map(decodePart);
  if (parts.length === 0) return undefined;
  const [kind = "", namespace = "", name = ""] = parts;
  if (parts.length !== 3) throw new HttpError(400, "the path has to be /config/KIND/NAMESPACE/NAME");
  if (kind === SECRET) return { kind, namespace, name };
  if (!isKind(kind)) throw unknownKind(kind);
  return { kind, namespace, name };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new HttpError(400, `the path has a bad escape: ${part}`);
  }
}

/** JSON, or YAML, of which JSON is a part; one document. Read and checked by the parser, off the serving thread. */
async function parseBody(call: HttpRequest, ref: Ref | undefined, parser: ConfigParser): Promise<ParsedBody> {
  const bytes = await call.body(MAX_BODY_BYTES);
  if (!isUtf8(bytes)) throw new HttpError(400, "the body is not UTF-8 text");
  const documents = await parser.readDocuments(bytes, { defaultNamespace: ref?.namespace ?? "default" });
  const objects = documents.flatMap(({ result }) => result?.object ?? []);
  const problems = documents.flatMap(({ result, linesBefore }) =>
    (result?.problems ?? []).map((problem) => ({ ...problem, line: problem.line + linesBefore })),
  );
  const [object] = objects;
  const errors = problems.filter(({ severity }) => severity === "error");
  // Also of a second document: half of what was sent must not count as all of it.
  if (errors.length > 0) throw new ProblemList(fewProblems(errors));
  const [credential, ...credentials] = documents.flatMap(({ result }) => result?.credential ?? []);
  const count = objects.length + (credential === undefined ? 0 : 1 + credentials.length);
  if (count > 1) throw new HttpError(400, `the body holds ${count} documents, one is allowed`);
  if (credential !== undefined) {
    if (ref !== undefined) checkName({ ...credential, kind: SECRET }, ref);
    return { credential };
  }
  if (object === undefined) {
    // Of a document of another kind, that it would have no effect.
    const reason = problems[0]?.message ?? "the body holds no rule object";
    throw new HttpError(422, `${reason}; known kinds are ${KNOWN_KINDS}`);
  }
  if (ref !== undefined) checkName(object, ref);
  return { object, problems: problems.map(({ field, message, severity }) => ({ field, message, severity })) };
}

class ProblemList extends HttpError {
  constructor(problems: readonly { readonly line: number; readonly field: string; readonly message: string }[]) {
    const lines = problems.map(
      ({ line, field, message }) => `line ${line}: ${field === "" ? "" : `${field}: `}${message}`,
    );
    super(422, lines.join("\n"));
  }
}

/** The path says which object is meant; a document that names another is a mistake. */
function checkName(object: Ref, ref: Ref): void {
  for (const member of ["kind", "namespace", "name"] as const) {
    if (object[member] === ref[member]) continue;
    const values = `${JSON.stringify(object[member])}, the path says ${JSON.stringify(ref[member])}`;
    throw new HttpError(400, `the document's ${member} is ${values}`);
  }
}

function show(object: AnyConfigObject, files: ConfigStore | undefined) {
  const { source, kind, namespace, name } = object;
  const metadata = (typeof source.metadata === "object" ? source.metadata : {}) as object;
  const origin = files?.snapshot.get(kind, namespace, name) === undefined ? "memory" : "file";
  return { key: objectKey(object), item: { ...source, metadata: { ...metadata, namespace }, origin } };
}

function unknownKind(kind: string): HttpError {
  return new HttpError(400, `kind ${JSON.stringify(kind)} is unknown, known are ${KNOWN_KINDS}`);
}
