import { abortAfter } from "../base/abort-after.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { KeepaliveOptions } from "../net/http2/keepalive.ts";
import type { Http2Response } from "../net/http2/open-http2-session.ts";
import type { ClusterAccess } from "./access/cluster-access.ts";
import { createCredentials } from "./access/credentials.ts";
import { bodyBytes, failureBody, headerText, isProtobuf, parseAnswer, toList } from "./answers.ts";
import { createConnection, DEFAULT_KEEPALIVE } from "./connection.ts";
import { KubernetesError, statusError } from "./kubernetes-error.ts";
import {
  type ApiObject,
  asObject,
  type ObjectList,
  type ResourceKind,
  resourcePath,
  shownResource,
} from "./objects.ts";
import { decodeList, PROTOBUF } from "./protobuf/envelope.ts";
import type { MessageShape } from "./protobuf/message-shape.ts";
import { createSharedTexts } from "./protobuf/shared-texts.ts";
import { readWatch, type WatchEvent } from "./watch-events.ts";

export interface ClientOptions {
  readonly access: ClusterAccess;
  /** For credential plugins. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly userAgent?: string;
  readonly keepalive?: KeepaliveOptions;
  /** Of each request but watches; one minute when absent. */
  readonly timeoutMs?: number;
}

export interface ListOptions {
  /** "": what is stored now; "0": what the server has in memory; else not older than this one. */
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continueToken?: string | undefined;
  /** Of a built-in kind: what is read of its objects, which then come in their binary form. */
  readonly shape?: MessageShape | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  /** All objects come first, as events, up to an annotated bookmark. */
  readonly sendsInitialEvents?: boolean;
  /** As of a list. */
  readonly shape?: MessageShape | undefined;
  readonly signal: AbortSignal;
}

export interface WriteOptions {
  readonly subresource?: string;
  readonly fieldManager?: string;
  readonly isDryRun?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface PatchOptions extends WriteOptions {
  readonly type: "merge" | "json" | "apply";
  /** Of an apply: takes fields over from other managers. */
  readonly isForced?: boolean;
}

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Requests to one API server. All reject with a KubernetesError whose message names verb and resource. */
export interface KubernetesClient extends AsyncDisposable {
  /** The context, for messages. */
  readonly name: string;
  readonly server: string;
  /** The namespace of the context, or of the pod. */
  readonly namespace: string;
  get(resource: ResourceKind, name: string, signal?: AbortSignal): Promise<ApiObject>;
  /** One page; selectors are those of the resource. */
  list(resource: ResourceKind, options?: ListOptions): Promise<ObjectList>;
  /** The answer of the server: the object as stored, or a review with its status. */
  create(
    resource: ResourceKind,
    object: object,
    options?: WriteOptions & { readonly name?: string },
  ): Promise<ApiObject>;
  update(resource: ResourceKind, object: ApiObject, options?: WriteOptions): Promise<ApiObject>;
  patch(resource: ResourceKind, name: string, body: unknown, options: PatchOptions): Promise<ApiObject>;
  delete(resource: ResourceKind, name: string, options?: DeleteOptions): Promise<void>;
  /** Resolves when the server has agreed to it. The iteration ends with the watch, and rejects when the connection is lost. */
  watch(resource: ResourceKind, options: WatchOptions): Promise<AsyncIterable<WatchEvent>>;
  /** JSON at a path: versions, groups and their resources. */
  read(path: string, signal?: AbortSignal): Promise<unknown>;
  /** JSON to a path, as what the server passes on to a service; its answer. */
  post(path: string, body: object, signal?: AbortSignal): Promise<unknown>;
  stop(): Promise<void>;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

interface Call {
  /** Verb and resource, for messages. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly shape?: MessageShape | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Makes no connection yet. */
export function createKubernetesClient(options: ClientOptions): KubernetesClient {
  const { access, env, userAgent = "pilot-agent", timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const credentials = createCredentials(access, env);
  const connection = createConnection(access, options.keepalive ?? DEFAULT_KEEPALIVE);
  const prefix = access.server.pathname.replace(/\/$/, "");
  const share = createSharedTexts();

  const sendOnce = async ({ method, path, query = {}, body, contentType, shape }: Call, signal: AbortSignal) => {
    const given = await credentials.current();
    const headers = {
      accept: shape === undefined ? "application/json" : `${PROTOBUF}, application/json`,
      "user-agent": userAgent,
      ...(body !== undefined && { "content-type": contentType ?? "application/json" }),
      ...(given.authorization !== undefined && { authorization: given.authorization.reveal() }),
      ...given.headers,
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return connection.request(
      { method, path: `${prefix}${path}${queryText(query)}`, headers, body: text, signal },
      given,
    );
  };
  /** The head of an answer with a good status. */
  const send = async (call: Call, signal: AbortSignal): Promise<Http2Response> => {
    let response = await sendOnce(call, signal);
    // A token may have been replaced since it was read.
    if (response.status === 401 && credentials.expire()) {
      response.body.destroy();
      response = await sendOnce(call, signal);
    }
    if (response.status < 400) return response;
    const body = await failureBody(response);
    throw statusError(call.what, response.status, body, headerText(response.headers["retry-after"]));
  };
  const failed = (what: string, cause: unknown, isLate: boolean, signal: AbortSignal | undefined): KubernetesError => {
    if (cause instanceof KubernetesError && !isLate) return cause;
    if (signal?.aborted) return new KubernetesError("cancelled", `cannot ${what}: cancelled`, { cause });
    if (isLate) return new KubernetesError("timeout", `cannot ${what}: no answer within ${timeoutMs} ms`, { cause });
    return new KubernetesError("unreachable", `cannot ${what}: ${access.server.host}: ${errorMessage(cause)}`, {
      cause,
    });
  };
  const ask = async (call: Call): Promise<unknown> => {
    using limit = abortAfter(timeoutMs, call.signal);
    try {
      const response = await send(call, limit.signal);
      const bytes = await bodyBytes(response);
      if (call.shape !== undefined && isProtobuf(response)) return decodeList(bytes, call.shape, share);
      const text = bytes.toString("utf8");
      const answer = parseAnswer(text);
      if (answer === undefined && text !== "")
        throw new KubernetesError("bad-answer", `cannot ${call.what}: the answer is not JSON`);
      return answer;
    } catch (cause) {
      throw failed(call.what, cause, limit.expired, call.signal);
    }
  };
  const askObject = async (call: Call): Promise<ApiObject> => {
    const object = asObject(await ask(call));
    if (object === undefined)
      throw new KubernetesError("bad-answer", `cannot ${call.what}: the answer is not an object`);
    return object;
  };

  return {
    name: access.name,
    server: access.server.href,
    namespace: access.namespace,
    get: (resource, name, signal) =>
      askObject({
        what: `get ${name} of ${shownResource(resource)}`,
        method: "GET",
        path: resourcePath(resource, name),
        signal,
      }),
    async list(resource, { resourceVersion, limit, continueToken, shape, signal } = {}) {
      const what = `list ${shownResource(resource)}`;
      const query = {
        ...selectors(resource),
        resourceVersion: continueToken === undefined ? resourceVersion : undefined,
        limit: limit === undefined ? undefined : String(limit),
        continue: continueToken,
      };
      return toList(await ask({ what, method: "GET", path: resourcePath(resource), query, shape, signal }), what);
    },
    create: (resource, object, { name, subresource, signal, ...rest } = {}) =>
      askObject({
        what: `create ${subresource === undefined ? "" : `${subresource} of `}${shownResource(resource)}`,
        method: "POST",
        path: resourcePath(resource, name, subresource),
        query: writeQuery(rest),
        body: object,
        signal,
      }),
    update: (resource, object, { subresource, signal, ...rest } = {}) =>
      askObject({
        what: `update ${object.metadata.name} of ${shownResource(resource)}`,
        method: "PUT",
        path: resourcePath(resource, object.metadata.name, subresource),
        query: writeQuery(rest),
        body: object,
        signal,
      }),
    patch: (resource, name, body, { type, isForced, subresource, signal, ...rest }) =>
      askObject({
        what: `patch ${name} of ${shownResource(resource)}`,
        method: "PATCH",
        path: resourcePath(resource, name, subresource),
        query: { ...writeQuery(rest), force: type === "apply" && isForced ? "true" : undefined },
        body,
        contentType: PATCH_TYPES[type],
        signal,
      }),
    async delete(resource, name, { uid, resourceVersion, signal } = {}) {
      const preconditions = {
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      };
      await ask({
        what: `delete ${name} of ${shownResource(resource)}`,
        method: "DELETE",
        path: resourcePath(resource, name),
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions },
        signal,
      });
    },
    async watch(resource, { resourceVersion, timeoutSeconds, sendsInitialEvents, shape, signal }) {
      const what = `watch ${shownResource(resource)}`;
      const query = {
        ...selectors(resource),
        watch: "true",
        allowWatchBookmarks: "true",
        resourceVersion,
        timeoutSeconds: String(timeoutSeconds),
        ...(sendsInitialEvents && { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }),
      };
      // Of the head only: the events take as long as they take.
      using limit = abortAfter(timeoutMs, signal);
      const reading = new AbortController();
      const follow = () => reading.abort(limit.signal.reason);
      limit.signal.addEventListener("abort", follow, { once: true });
      try {
        const call = { what, method: "GET", path: resourcePath(resource), query, shape };
        const response = await send(call, reading.signal);
        const binary = shape !== undefined && isProtobuf(response) ? { shape, share } : undefined;
        return readWatch(response.body, what, signal, binary);
      } catch (cause) {
        throw failed(what, cause, limit.expired, signal);
      } finally {
        limit.signal.removeEventListener("abort", follow);
      }
    },
    read: (path, signal) => ask({ what: `read ${path}`, method: "GET", path, signal }),
    post: (path, body, signal) => ask({ what: `post to ${path}`, method: "POST", path, body, signal }),
    stop: () => connection.stop(),
    [Symbol.asyncDispose]: () => connection.stop(),
  };
}

function selectors({ labelSelector, fieldSelector }: ResourceKind): Record<string, string | undefined> {
  return { labelSelector: labelSelector || undefined, fieldSelector: fieldSelector || undefined };
}

function writeQuery({ fieldManager, isDryRun }: WriteOptions): Record<string, string | undefined> {
  return { fieldManager, dryRun: isDryRun ? "All" : undefined };
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
