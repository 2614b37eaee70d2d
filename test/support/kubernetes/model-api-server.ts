import {
  type ScriptedApiServer,
  type ScriptedRequest,
  type ScriptedStream,
  startScriptedApiServer,
} from "./scripted-api-server.ts";

export interface ModelObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly value: number;
}

interface Event {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: ModelObject;
  readonly version: number;
}

/** One kind of object with the history that a real server has: lists, watches from any version, bookmarks, expired versions. */
export interface ModelApiServer extends ScriptedApiServer {
  put(name: string, value: number): void;
  delete(name: string): void;
  /** Versions before now cannot be watched from any more. */
  compact(): void;
  /** Back to what `backup` returned; versions go back with it. */
  backup(): unknown;
  restore(backup: unknown): void;
  /** Ends the open watches: cleanly, in the middle of a line, or with something that is not an event. */
  endWatches(how: "clean" | "cut" | "garbage"): void;
  /** Events that no watch is sent: what a lossy server would do. */
  loseEvents(during: () => void): void;
  bookmark(): void;
  /** Of every object, by name. */
  content(): Record<string, number>;
}

export interface ModelOptions {
  readonly streamsLists: boolean;
  /** Objects on a page, at most; the client's own limit when absent. */
  readonly pageSize?: number;
}

const FIRST_VERSION = 100;

export async function startModelApiServer({ streamsLists, pageSize }: ModelOptions): Promise<ModelApiServer> {
  let version = FIRST_VERSION;
  let oldest = FIRST_VERSION;
  let objects = new Map<string, ModelObject>();
  let events: Event[] = [];
  let isLosing = false;
  let expiredTokens = 0;
  const watches = new Set<ScriptedStream>();

  const expired = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
  const bookmarkOf = (annotations?: object) => ({
    type: "BOOKMARK",
    object: { kind: "Thing", metadata: { resourceVersion: String(version), ...(annotations && { annotations }) } },
  });
  const record = (type: Event["type"], object: ModelObject) => {
    events.push({ type, object, version });
    if (!isLosing) for (const watch of watches) watch.send({ type, object });
  };
  const list = (request: ScriptedRequest) => {
    const given = request.query.get("resourceVersion") ?? "";
    if (Number(given) > version) {
      const details = { causes: [{ reason: "ResourceVersionTooLarge" }], retryAfterSeconds: 1 };
      return request.answer(504, {
        kind: "Status",
        code: 504,
        reason: "Timeout",
        message: "Too large resource version",
        details,
      });
    }
    const names = [...objects.keys()].toSorted();
    const [token = "0", generation] = (request.query.get("continue") ?? "").split(":");
    const start = Number(token || "0");
    if (generation !== undefined && Number(generation) !== expiredTokens) return request.answer(410, expired);
    const limit = Math.min(Number(request.query.get("limit") ?? names.length), pageSize ?? Number.POSITIVE_INFINITY);
    const isWhole = given === "0" || !request.query.has("limit");
    const page = isWhole ? names : names.slice(start, start + limit);
    const next = !isWhole && start + limit < names.length ? `${start + limit}:${expiredTokens}` : undefined;
    const items = page.map((name) => objects.get(name));
    request.answer(200, {
      kind: "ThingList",
      metadata: { resourceVersion: String(version), ...(next && { continue: next }) },
      items,
    });
  };
  const watch = (request: ScriptedRequest) => {
    const isInitial = request.query.get("sendInitialEvents") === "true";
    if (isInitial && !streamsLists)
      return request.answer(422, { kind: "Status", code: 422, reason: "Invalid", message: "no" });
    const from = Number(request.query.get("resourceVersion") ?? "0");
    if (!isInitial && from < oldest - 1) return request.answer(410, expired);
    const stream = request.stream();
    if (isInitial) {
      for (const object of objects.values()) stream.send({ type: "ADDED", object });
      stream.send(bookmarkOf({ "k8s.io/initial-events-end": "true" }));
    } else
      for (const event of events) if (event.version > from) stream.send({ type: event.type, object: event.object });
    watches.add(stream);
  };
  const server = await startScriptedApiServer((request) => {
    if (request.query.get("watch") === "true") watch(request);
    else list(request);
  });
  return Object.assign(server, {
    put(name: string, value: number) {
      version += 1;
      const object = { metadata: { name, namespace: "default", resourceVersion: String(version) }, value };
      const type = objects.has(name) ? "MODIFIED" : "ADDED";
      objects.set(name, object);
      record(type, object);
    },
    delete(name: string) {
      const object = objects.get(name);
      if (object === undefined) return;
      version += 1;
      objects.delete(name);
      record("DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    },
    compact() {
      oldest = version + 1;
      expiredTokens += 1;
      events = [];
    },
    backup: () => ({ version, oldest, objects: new Map(objects), events: [...events] }),
    restore(backup: unknown) {
      const state = backup as { version: number; oldest: number; objects: typeof objects; events: Event[] };
      version = state.version;
      oldest = state.oldest;
      objects = new Map(state.objects);
      events = [...state.events];
      server.cut();
      watches.clear();
    },
    endWatches(how: "clean" | "cut" | "garbage") {
      for (const stream of watches) {
        if (how === "garbage") stream.write('{"type":"ADDED","object":{"metadata"\n');
        else if (how === "clean") stream.end();
        else stream.write('{"type":"MODIFIED","obj');
      }
      if (how === "cut") server.cut();
      if (how !== "garbage") watches.clear();
    },
    loseEvents(during: () => void) {
      isLosing = true;
      during();
      isLosing = false;
    },
    bookmark() {
      for (const stream of watches) stream.send(bookmarkOf());
    },
    content: () => Object.fromEntries([...objects].map(([name, { value }]) => [`default/${name}`, value]).toSorted()),
  });
}
