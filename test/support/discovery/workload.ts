import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Netns } from "../netns/netns.ts";
import { bundleProgram } from "../process/bundle-program.ts";
import type {
  BehaveRequest,
  GrpcRequest,
  GrpcResult,
  HttpRequest,
  HttpResult,
  ListenRequest,
  TcpRequest,
  TcpResult,
  WebSocketRequest,
  WebSocketResult,
  WorkloadRequest,
} from "./workload-program/protocol.ts";

export type * from "./workload-program/protocol.ts";

/** Applications and a client inside a namespace. */
export interface WorkloadProcess extends AsyncDisposable {
  listen(request: ListenRequest): Promise<void>;
  behave(request: BehaveRequest): Promise<void>;
  /** One line per request that the application on the port got. */
  seen(port: number, forget?: boolean): Promise<readonly string[]>;
  http(request: HttpRequest): Promise<readonly HttpResult[]>;
  grpc(request: GrpcRequest): Promise<GrpcResult>;
  websocket(request: WebSocketRequest): Promise<WebSocketResult>;
  tcp(request: TcpRequest): Promise<TcpResult>;
}

export interface WorkloadProgram extends AsyncDisposable {
  readonly file: string;
}

/** The program that runs in each namespace, as plain Node can load it. */
export async function bundleWorkload(): Promise<WorkloadProgram> {
  const folder = await mkdtemp(join(tmpdir(), "workload-"));
  const file = join(folder, "workload.mjs");
  await bundleProgram("test/support/discovery/workload-program/main.ts", { outfile: file });
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

export function startWorkload(netns: Netns, program: WorkloadProgram): WorkloadProcess {
  const child = netns.spawn(process.execPath, [program.file]);
  const pending = new Map<number, { resolve(value: unknown): void; reject(reason: Error): void }>();
  const said: string[] = [];
  let count = 0;
  child.stderr?.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  const exited = once(child, "exit").then(() => {
    for (const { reject } of pending.values()) reject(new Error(`the workload ended: ${said.join("")}`));
  });
  createInterface({ input: child.stdout ?? process.stdin }).on("line", (line) => {
    const { id, result, error } = JSON.parse(line) as { id: number; result?: unknown; error?: string };
    const waiting = pending.get(id);
    pending.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  });
  const ask = <Result>(request: WorkloadRequest): Promise<Result> => {
    count += 1;
    const id = count;
    return new Promise<Result>((resolve, reject) => {
      pending.set(id, { resolve: (value) => resolve(value as Result), reject });
      child.stdin?.write(`${JSON.stringify({ id, ...request })}\n`);
    });
  };
  return {
    listen: (request) => ask({ op: "listen", ...request }),
    behave: (request) => ask({ op: "behave", ...request }),
    seen: (port, forget = false) => ask({ op: "seen", port, forget }),
    http: (request) => ask({ op: "http", ...request }),
    grpc: (request) => ask({ op: "grpc", ...request }),
    websocket: (request) => ask({ op: "websocket", ...request }),
    tcp: (request) => ask({ op: "tcp", ...request }),
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      child.kill("SIGKILL");
      await exited;
    },
  };
}
