import { stat } from "node:fs/promises";
import { CloseStack } from "../../base/close-stack.ts";
import { CodedError, errorCode, errorMessage } from "../../base/coded-error.ts";
import { createDebounced } from "../../base/debounce.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { WatchSet } from "../../files/watch/watch-set.ts";
import { type AnyConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import { type DocumentProblem, describeDocumentProblem } from "../../istio-api/decode/parse-config-text.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import {
  type CredentialData,
  type CredentialStore,
  createCredentialTable,
} from "../credentials/create-credential-table.ts";
import { type ConfigParser, DIRECT_PARSER, fewProblems } from "../parse/config-parser.ts";
import { createSnapshotPublisher, type ObjectMap } from "./config-snapshot.ts";
import { createFileReader, type ReadFile } from "./files/file-reader.ts";
import { listFiles } from "./files/list-files.ts";

export const NOTHING: Assembled = {
  objects: new Map(),
  origins: new Map(),
  credentials: new Map(),
  problems: [],
};

export interface FileStoreOptions {
  readonly dir: string;
  readonly log: Logger;
  /** In this thread when absent. */
  readonly parser?: ConfigParser;
  /** For objects that name none; "default" when absent. */
  readonly defaultNamespace?: string;
  /** Quiet time after a change before files are read; 50 ms. */
  readonly quietMs?: number;
  /** Under constant change files are read this often; 500 ms. */
  readonly maxWaitMs?: number;
  /** A regular look for what no watch can see, such as a linked file changed at its other end; 5 s. */
  readonly rescanMs?: number;
}

export interface FileStore extends ConfigStore, Handle {
  /** Secrets of the directory. */
  readonly credentials: CredentialStore;
  /** Where the object is written that counts; undefined for what is in no file. */
  positionOf(ref: ObjectRef): FilePosition | undefined;
}

export interface FilePosition {
  readonly file: string;
  readonly line: number;
}

/**
 * Rule objects of a directory tree, watched. Resolves when everything has been read once; bad documents are listed and block nothing.
 * Rejects with a StoreError when the directory cannot be read. A directory that goes away later leaves the last state in force.
 */
export async function startFileStore(options: FileStoreOptions): Promise<FileStore> {
  const {
    dir,
    log,
    parser = DIRECT_PARSER,
    defaultNamespace = "default",
    quietMs = 50,
    maxWaitMs = 500,
    rescanMs = 5000,
  } = options;
  await using opened = new CloseStack();
  const publisher = createSnapshotPublisher();
  const reader = createFileReader(defaultNamespace, parser);
  /** One watch per directory. Where the kernel has no more of them, changes are still found by the rescan. */
  const unwatched = new Set<string>();
  const onWatchFailure = (path: string, failure: unknown) => {
    if (unwatched.has(path)) return;
    unwatched.add(path);
    log.warn("directory cannot be watched, changes are found by looking", { path, error: errorMessage(failure) });
    debounced.trigger();
  };
  const watches = opened.add(new WatchSet(() => debounced.trigger(), onWatchFailure));
  let state: Assembled = NOTHING;
  /** Paths of the files that the state is made of. */
  let known: ReadonlySet<string> = new Set();
  const credentials = createCredentialTable();

  const list = () => listFiles(dir, ({ path, id }) => watches.add(path, id));
  const load = async (): Promise<void> => {
    const listing = await list();
    watches.retain(new Set(listing.directories.map(({ path }) => path)));
    const files = await reader.read(listing.files);
    // Files that were gone are deletions only in the directory that was listed: it may have been removed or replaced.
    const { dev, ino } = await stat(dir);
    if (listing.directories[0]?.id !== `${dev}:${ino}`) return load();
    // It may also have been away only while they were listed or read: then they are there again.
    const read = new Set(files.map(({ path }) => path));
    const missing = new Set([...known, ...listing.files.map(({ path }) => path)].filter((path) => !read.has(path)));
    if (missing.size > 0 && (await list()).files.some(({ path }) => missing.has(path))) return load();
    known = read;
    reader.endRound();
    // What cannot be looked at counts as a file that cannot be read: its objects stay.
    const unseen = listing.problems.map(({ path, message }) => ({ path, mtimeMs: 0, documents: [], failure: message }));
    state = assemble([...files, ...unseen], state);
    publish(state.problems);
  };
  const publish = (problems: readonly DocumentProblem[]) => {
    logNewProblems(log, publisher.snapshot.problems, problems);
    const changes = publisher.publish(state.objects, problems);
    credentials.replace(new Map([...state.credentials].map(([key, { data }]) => [key, data])));
    if (changes.length > 0)
      log.info("rule objects loaded", { dir, objects: state.objects.size, changed: changes.length });
  };
  const reload = async (): Promise<void> => {
    try {
      await load();
    } catch (thrown) {
      // The server is closed: the change has no reader.
      if (errorCode(thrown) === "stopped") return;
      publish([
        ...state.problems,
        problemOf(dir, `directory cannot be read, its last state stays: ${errorMessage(thrown)}`),
      ]);
    }
  };
  const debounced = opened.add(createDebounced(reload, { quietMs, maxWaitMs }));

  try {
    await load();
  } catch (thrown) {
    const reason = `config directory ${dir} cannot be read: ${errorMessage(thrown)}`;
    throw new StoreError("directory-unreadable", reason, { cause: thrown });
  }
  const rescan = setInterval(() => debounced.trigger(), rescanMs);
  opened.defer(() => clearInterval(rescan));
  const owned = opened.move();
  return toHandle({
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    credentials,
    positionOf: (ref: ObjectRef) => state.origins.get(objectKey(ref)),
    ended: new Promise<void>(() => undefined),
    stop: () => owned.close(),
  });
}

/** Each problem is logged when it appears, not at every reading. */
export function logNewProblems(
  log: Logger,
  known: readonly DocumentProblem[],
  problems: readonly DocumentProblem[],
): void {
  const before = new Set(known.map(describeDocumentProblem));
  for (const problem of problems) {
    const { file, line, message, field, severity } = problem;
    if (before.has(describeDocumentProblem(problem))) continue;
    if (severity === "error") log.error("rule object refused", { file, line, field, reason: message });
    else log.warn("rule object has a warning", { file, line, field, reason: message });
  }
}

class StoreError extends CodedError<"directory-unreadable"> {}

export interface Assembled {
  readonly objects: ObjectMap;
  /** Where each object came from. */
  readonly origins: ReadonlyMap<string, FilePosition>;
  /** Secrets by `namespace/name`, with the file each came from. */
  readonly credentials: ReadonlyMap<string, { readonly data: CredentialData; readonly origin: string }>;
  readonly problems: readonly DocumentProblem[];
}

/**
 * The objects of all files. A document that went bad keeps its object as it last was: a half written file or a typing error must not
 * take rules away from running proxies. Objects without creation time are as old as their file when they were first seen in it.
 */
export function assemble(files: readonly ReadFile[], previous: Assembled): Assembled {
  const objects = new Map<string, AnyConfigObject>();
  const origins = new Map<string, FilePosition>();
  const credentials = new Map<string, { readonly data: CredentialData; readonly origin: string }>();
  const problems: DocumentProblem[] = [];
  for (const file of files) {
    const ofFile: DocumentProblem[] = [];
    if (file.failure !== undefined) ofFile.push(problemOf(file.path, file.failure));
    for (const { result, linesBefore, line } of file.documents) {
      ofFile.push(
        ...result.problems.map((problem) => ({ ...problem, file: file.path, line: problem.line + linesBefore })),
      );
      const { credential } = result;
      const credentialKey = `${credential?.namespace}/${credential?.name}`;
      const data = credential?.data ?? (credential && previous.credentials.get(credentialKey)?.data);
      if (data !== undefined && !credentials.has(credentialKey))
        credentials.set(credentialKey, { data, origin: file.path });
      if (result.object === undefined) continue;
      const key = objectKey(result.object);
      const first = origins.get(key);
      if (first === undefined) {
        objects.set(key, withAge(result.object, file.mtimeMs, previous.objects.get(key)));
        origins.set(key, { file: file.path, line });
      } else {
        const { kind, namespace, name } = result.object;
        const message = `${kind} ${namespace}/${name} is also in ${first.file}, which is used`;
        ofFile.push({ ...problemOf(file.path, message, linesBefore + 1), object: { kind, namespace, name } });
      }
    }
    problems.push(...fewProblems(ofFile));
  }
  for (const file of files) keepLastGood(file, previous, { objects, origins, credentials });
  return { objects, origins, credentials, problems };
}

/** A document without a readable name may have been any of the file's objects, so that all of them stay. */
function keepLastGood(
  file: ReadFile,
  previous: Assembled,
  {
    objects,
    origins,
    credentials,
  }: {
    readonly objects: Map<string, AnyConfigObject>;
    readonly origins: Map<string, FilePosition>;
    readonly credentials: Map<string, { readonly data: CredentialData; readonly origin: string }>;
  },
): void {
  const bad = file.documents.filter(({ result }) => result.object === undefined && result.ignoredKind === undefined);
  const isUnknown = file.failure !== undefined || bad.some(({ result }) => result.ref === undefined);
  if (bad.length === 0 && !isUnknown) return;
  for (const [key, known] of previous.credentials)
    if (isUnknown && !credentials.has(key) && isFrom(file.path, known.origin)) credentials.set(key, known);
  const named = new Set(bad.flatMap(({ result }) => (result.ref === undefined ? [] : [objectKey(result.ref)])));
  for (const [key, object] of previous.objects) {
    const position = previous.origins.get(key);
    if (objects.has(key) || position === undefined || !isFrom(file.path, position.file)) continue;
    if (!isUnknown && !named.has(key)) continue;
    objects.set(key, object);
    origins.set(key, position);
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

function problemOf(file: string, message: string, line = 1): DocumentProblem {
  return { file, line, column: 1, severity: "error", message, field: "" };
}
