import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { envoyPath } from "../needs.ts";

export interface RunningEnvoy extends AsyncDisposable {
  /** What it wrote so far. */
  readonly output: string;
  readonly exited: boolean;
}

/** A stock Envoy with the given bootstrap; killed and gone when disposed. */
export function spawnEnvoy(folder: string, bootstrap: object): RunningEnvoy {
  const path = envoyPath();
  if (path === undefined) throw new Error("no Envoy; the test has to say needs(envoy)");
  const file = join(folder, "envoy.json");
  writeFileSync(file, JSON.stringify(bootstrap));
  const child = spawn(path, ["-c", file, "--disable-hot-restart", "--concurrency", "1", "-l", "warning"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let exited = false;
  const note = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on("data", note);
  child.stderr.on("data", note);
  const gone = new Promise<void>((resolve) =>
    child.once("close", () => {
      exited = true;
      resolve();
    }),
  );
  return {
    get output() {
      return output;
    },
    get exited() {
      return exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** A listener on a unix socket that passes every request on to one cluster. */
export function pipeListener(path: string, cluster: string): object {
  const router = {
    name: "envoy.filters.http.router",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
  };
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "front",
    codec_type: "HTTP2",
    stream_idle_timeout: "0s",
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster, timeout: "0s" } }] },
      ],
    },
    http_filters: [router],
  };
  return {
    name: "front",
    address: { pipe: { path } },
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] }],
  };
}
