/** Requests that a test sends to a workload in its namespace, one JSON text per line. */
export type WorkloadRequest =
  | ({ readonly op: "listen" } & ListenRequest)
  | ({ readonly op: "behave" } & BehaveRequest)
  | { readonly op: "seen"; readonly port: number; readonly forget?: boolean }
  | ({ readonly op: "http" } & HttpRequest)
  | ({ readonly op: "grpc" } & GrpcRequest)
  | ({ readonly op: "websocket" } & WebSocketRequest)
  | ({ readonly op: "tcp" } & TcpRequest);

export interface ListenRequest {
  /**
   * `http` speaks HTTP/1.1 and WebSocket, `http2` and `grpc` HTTP/2 in plaintext, `server-first` TCP that greets. Authorizers answer the
   * questions of Envoy's ext_authz filters. Collectors take spans.
   */
  readonly kind:
    | "http"
    | "https"
    | "http2"
    | "grpc"
    | "tcp"
    | "tls"
    | "server-first"
    | "authorizer-http"
    | "authorizer-grpc"
    | "collector-grpc"
    | "collector-http";
  readonly port: number;
  /** What answers call themselves. */
  readonly name: string;
  readonly host?: string;
  readonly tls?: Credentials;
}

/** A line of what a collector has seen. */
export interface CollectedSpan {
  readonly service: string;
  readonly trace: string;
  readonly id: string;
  /** Empty: it is the first of its trace. */
  readonly parent: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface BehaveRequest {
  readonly port: number;
  /** Answered to every request; 200 when absent. */
  readonly status?: number;
  readonly delayMs?: number;
  /** Instead of what the application saw of the request. */
  readonly body?: string;
  /** Only so many requests are failed, the others succeed. */
  readonly times?: number;
}

export interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
}

export interface TlsCall extends Credentials {
  readonly alpn?: readonly string[];
  readonly servername?: string;
}

export interface Target {
  readonly address: string;
  readonly port: number;
  readonly tls?: TlsCall;
  readonly timeoutMs?: number;
}

export interface HttpRequest extends Target {
  readonly version?: 1 | 2;
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly count?: number;
  readonly concurrency?: number;
  /** A connection per request. */
  readonly fresh?: boolean;
}

/** What an application of a test answers to every request. */
export interface Echo {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly protocol: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

export interface HttpResult {
  /** 0: no answer. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  readonly ms: number;
  readonly error?: string;
}

export interface GrpcRequest extends Target {
  readonly host: string;
  readonly message: string;
}

export interface GrpcResult {
  readonly status: number;
  readonly grpcStatus: string;
  readonly message: string;
  readonly error?: string;
}

export interface WebSocketRequest extends Target {
  readonly host: string;
  readonly path?: string;
  readonly messages: readonly string[];
}

export interface WebSocketResult {
  readonly status: number;
  readonly messages: readonly string[];
  readonly error?: string;
}

export interface TcpRequest extends Target {
  readonly send: string;
}

export interface TcpResult {
  readonly received: string;
  /** The peer ended the connection before anything was received. */
  readonly closed: boolean;
  readonly error?: string;
}
