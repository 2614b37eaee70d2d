/** What is used of `@grpc/grpc-js`, so that its own types fit and the package is not needed. */
export interface GrpcLibrary<Call, ServerCall> {
  readonly Metadata: new () => CallMetadata;
  readonly InterceptingCall: new (next: never, requester: never) => Call;
  readonly ServerInterceptingCall: new (next: never, responder: never) => ServerCall;
}

export interface CallMetadata {
  get(name: string): readonly (string | Uint8Array)[];
  set(name: string, value: string): void;
  clone(): CallMetadata;
  getMap(): Readonly<Record<string, unknown>>;
}

export interface CallStatus {
  readonly code?: number | null;
  readonly metadata?: CallMetadata | null;
}

export interface InterceptedCall {
  getAuthContext?(): {
    readonly transportSecurityType?: string;
    readonly sslPeerCertificate?: { readonly subjectaltname?: string | undefined };
  } | null;
}

/** Hands on what was looked at. */
export type Pass<Value> = (value: Value) => void;
