import type * as grpc from "@grpc/grpc-js";
import { deltaDiscoveryRequest, discoveryRequest } from "../../../src/protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../../src/xds/methods.ts";
import { HEALTH_TYPE } from "../../../src/xds/type-urls.ts";
import { until } from "../wait/until.ts";
import {
  createResourceScript,
  type MeshResource,
  type ResourceScript,
  type ScriptedRequest,
} from "./resource-script.ts";

/** What a server knows of a client's call. */
export interface StreamTransport {
  readonly kind: XdsProtocol;
  readonly metadata: { get(name: string): readonly (string | Buffer)[] };
  /** `:authority`. */
  readonly host: string;
  send(message: Buffer): boolean;
  sendHeaders(headers: Readonly<Record<string, string>>): void;
  end(): void;
  fail(code: grpc.status, details: string): void;
  readonly closed: Promise<void>;
}

/** One client's stream as the control plane sees it. */
export interface ServedStream extends StreamTransport {
  readonly requests: Buffer[];
  /** Type URLs of the requests so far. */
  types(): string[];
  /** Resolves when `count` requests have come. */
  received(count: number): Promise<void>;
}

/** Without `resources` the test speaks on the streams; with them a script answers as a control plane does. */
export interface ScriptOptions {
  /** What a node gets, by its id; asked once per response. */
  resources?(nodeId: string): readonly MeshResource[];
  /** Called for each health report of a workload; undefined means healthy. */
  onHealth?(problem: string | undefined): void;
}

export interface ServedStreams {
  readonly streams: readonly ServedStream[];
  /** The stream with that index, as soon as it exists. */
  stream(index: number): Promise<ServedStream>;
  /** Requests that the script has taken, of all streams. */
  readonly requests: readonly ScriptedRequest[];
  /** Sends the resources of a type as they are now to every stream that subscribes to it. */
  push(typeUrl: string): void;
}

/** The streams of a control plane on any server, which opens one for each call and passes on its requests. */
export function createServedStreams(
  options: ScriptOptions,
): ServedStreams & { open(transport: StreamTransport): (request: Buffer) => void } {
  const streams: ServedStream[] = [];
  const taken: ScriptedRequest[] = [];
  const scripts = new Set<ResourceScript>();
  return {
    streams,
    requests: taken,
    async stream(index) {
      await until(`stream ${index}`, () => streams.length > index || `${streams.length} streams`);
      const found = streams[index];
      if (found === undefined) throw new Error(`no stream ${index}`);
      return found;
    },
    push: (typeUrl) => {
      for (const script of scripts) script.push(typeUrl);
    },
    open(transport) {
      const requests: Buffer[] = [];
      const { kind, send, closed } = transport;
      const decode = kind === "sotw" ? discoveryRequest.decode : deltaDiscoveryRequest.decode;
      streams.push({
        ...transport,
        requests,
        types: () => requests.map((bytes) => decode(bytes).typeUrl),
        received: (count) =>
          until(`${count} requests`, () => requests.length >= count || `${requests.length} requests`),
      });
      const { resources } = options;
      const script = resources && createResourceScript(kind, resources, (response) => void send(response));
      if (script !== undefined) {
        scripts.add(script);
        void closed.then(() => scripts.delete(script));
      }
      return (request) => {
        requests.push(request);
        if (script === undefined) return;
        const asked = script.take(request);
        taken.push(asked);
        if (asked.typeUrl === HEALTH_TYPE) options.onHealth?.(asked.error);
      };
    },
  };
}
