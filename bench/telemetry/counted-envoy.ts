import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { promisify } from "node:util";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { envoyPath } from "../../test/support/needs.ts";
import { until } from "../../test/support/wait/until.ts";

/** Connections are open, series are made and caches filled before anything is counted. */
const BEFORE = 30;
const COUNTED = 200;

export interface CountedEnvoy extends AsyncDisposable {
  /** Of one request after the other to this port. */
  instructionsPerRequest(port: number): Promise<number>;
}

/** A stock Envoy whose instructions valgrind counts. It is some fifty times slower. */
export async function startCountedEnvoy(bootstrap: object): Promise<CountedEnvoy> {
  const envoy = envoyPath();
  if (envoy === undefined) throw new Error("no Envoy: pilot-agent envoy path fetches one");
  const folder = temporaryFolder();
  const config = folder.write("envoy.json", bootstrap);
  const counting = ["--tool=callgrind", "--instr-atstart=no", `--callgrind-out-file=${folder.file("counted")}`, "-q"];
  const words = ["-c", config, "--concurrency", "1", "--disable-hot-restart", "-l", "off"];
  const child = spawn("valgrind", [...counting, envoy, ...words], { stdio: "ignore" });
  const failed = once(child, "error").then(([cause]) => {
    throw new Error("valgrind does not start: apt-get install valgrind", { cause });
  });
  const ended = Promise.race([once(child, "exit"), failed]);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const control = (flag: string, ...more: readonly string[]) =>
    promisify(execFile)("callgrind_control", [flag, ...more, String(child.pid)]);
  const collected = () => {
    const files = readdirSync(folder.path).filter((name) => name.startsWith("counted."));
    return files.reduce((sum, name) => {
      const [, count = "0"] = /^(?:summary|totals): (\d+)/m.exec(folder.read(name)) ?? [];
      rmSync(folder.file(name));
      return sum + Number(count);
    }, 0);
  };
  let isCounting = false;
  return {
    async instructionsPerRequest(port) {
      await until(`Envoy answers on ${port}`, async () => {
        if (child.exitCode !== null) throw new Error(`Envoy ended with ${child.exitCode}`);
        return (await get(agent, port)) === 200;
      });
      if (!isCounting) await control("-i", "on");
      isCounting = true;
      for (let count = 0; count < BEFORE; count += 1) await get(agent, port);
      await control("-z");
      for (let count = 0; count < COUNTED; count += 1) {
        const status = await get(agent, port);
        if (status !== 200) throw new Error(`port ${port} answers ${status}`);
      }
      await control("-d");
      return collected() / COUNTED;
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      child.kill("SIGKILL");
      await ended;
      folder[Symbol.dispose]();
    },
  };
}

function get(agent: Agent, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, agent, headers: { host: "web" } }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    outgoing.once("error", (failure: NodeJS.ErrnoException) => {
      if (failure.code === "ECONNREFUSED") resolve(undefined);
      else reject(failure);
    });
    outgoing.end();
  });
}
