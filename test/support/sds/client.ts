import * as grpc from "@grpc/grpc-js";
import { foreignCodec, loadEnvoyProtos } from "./envoy-protos.ts";

const protos = loadEnvoyProtos();
const secretCodec = foreignCodec(protos, "envoy.extensions.transport_sockets.tls.v3.Secret");
export const SECRET_TYPE = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/** A secret as Envoy's protos see it. */
export interface DecodedSecret {
  readonly name: string;
  readonly tls_certificate?: {
    readonly certificate_chain: { readonly inline_bytes: Buffer };
    readonly private_key?: { readonly inline_bytes: Buffer };
  };
  readonly validation_context?: {
    readonly trusted_ca: { readonly inline_bytes: Buffer };
    readonly crl?: { readonly filename: string };
  };
}

export interface SdsAnswer {
  readonly version_info: string;
  readonly nonce: string;
  readonly type_url: string;
  readonly resources: readonly { readonly type_url: string; readonly value: Buffer }[];
}

export interface DeltaAnswer {
  readonly nonce: string;
  readonly resources?: readonly {
    readonly name: string;
    readonly version: string;
    readonly resource: { readonly value: Buffer };
  }[];
  readonly removed_resources?: readonly string[];
}

/** One stream: what came back, and how it ended. */
export interface TestStream<Answer> {
  send(request: object): void;
  /** The next answer; rejects with the stream's status when it ends first, or at the deadline. */
  next(): Promise<Answer>;
  /** Answers that were not taken yet. */
  readonly waiting: readonly Answer[];
  /** The status: code and details. */
  readonly ended: Promise<{ readonly code: number; readonly details: string }>;
  /** Stops reading, so that the server meets a full window. */
  pause(): void;
  resume(): void;
  end(): void;
  cancel(): void;
}

export interface TestSdsClient extends AsyncDisposable {
  stream(metadata?: grpc.Metadata, service?: string): TestStream<SdsAnswer>;
  delta(): TestStream<DeltaAnswer>;
  fetch(request: object): Promise<SdsAnswer>;
}

const NODE = { id: "sidecar~127.0.0.1~test.default~default.svc.cluster.local" };

export function node(): { readonly id: string } {
  return NODE;
}

export function decodeSecrets(answer: SdsAnswer): readonly DecodedSecret[] {
  return (answer.resources ?? []).map(({ value }) => secretCodec.decode(value) as unknown as DecodedSecret);
}

export function decodeDelta(answer: DeltaAnswer): readonly DecodedSecret[] {
  return (answer.resources ?? []).map(({ resource }) => secretCodec.decode(resource.value) as unknown as DecodedSecret);
}

/** An SDS client made of other people's parts only: grpc-js and Envoy's own protos. */
export function connectSds(path: string): TestSdsClient {
  const loaded = grpc.loadPackageDefinition(protos) as unknown as {
    envoy: { service: { secret: { v3: { SecretDiscoveryService: grpc.ServiceClientConstructor } } } };
  };
  const Client = loaded.envoy.service.secret.v3.SecretDiscoveryService;
  const client = new Client(`unix:${path}`, grpc.credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  const methods = Client.service;
  const open = <Answer>(method: string, metadata = new grpc.Metadata(), service?: string): TestStream<Answer> => {
    const definition = methods[method];
    if (definition === undefined) throw new Error(`no method ${method}`);
    const callPath = service === undefined ? definition.path : `/${service}/${method}`;
    return wrap(
      client.makeBidiStreamRequest(callPath, definition.requestSerialize, definition.responseDeserialize, metadata),
    );
  };
  return {
    stream: (metadata, service) => open<SdsAnswer>("StreamSecrets", metadata, service),
    delta: () => open<DeltaAnswer>("DeltaSecrets"),
    fetch: (request) =>
      new Promise((resolve, reject) => {
        (
          client as unknown as Record<string, (request: object, done: grpc.requestCallback<SdsAnswer>) => void>
        ).FetchSecrets?.(request, (failure, answer) => (failure || !answer ? reject(failure) : resolve(answer)));
      }),
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

function wrap<Answer>(call: grpc.ClientDuplexStream<object, Answer>): TestStream<Answer> {
  const waiting: Answer[] = [];
  const takers: { resolve(answer: Answer): void; reject(failure: Error): void }[] = [];
  let failure: Error | undefined;
  const ended = new Promise<{ code: number; details: string }>((resolve) => {
    call.on("status", ({ code, details }: grpc.StatusObject) => {
      failure = Object.assign(new Error(`${code} ${details}`), { code });
      for (const taker of takers.splice(0)) taker.reject(failure);
      resolve({ code, details });
    });
  });
  call.on("error", () => undefined); // the status event tells the same
  call.on("data", (answer: Answer) => {
    const taker = takers.shift();
    if (taker === undefined) waiting.push(answer);
    else taker.resolve(answer);
  });
  return {
    waiting,
    ended,
    send: (request) => void call.write(request),
    next: () => {
      const answer = waiting.shift();
      if (answer !== undefined) return Promise.resolve(answer);
      if (failure !== undefined) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("no answer within 30 s")), 30_000);
        takers.push({
          resolve: (value) => {
            clearTimeout(timer);
            resolve(value);
          },
          reject: (cause) => {
            clearTimeout(timer);
            reject(cause);
          },
        });
      });
    },
    pause: () => void call.pause(),
    resume: () => void call.resume(),
    end: () => call.end(),
    cancel: () => call.cancel(),
  };
}
