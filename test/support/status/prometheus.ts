import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../wait/until.ts";
import { fetchBytes } from "./scrape.ts";

/** A real Prometheus: it has metrics of its own as any application does, and scrapes the ports every second. */
export async function startPrometheus(port: number, targets: readonly number[]) {
  const folder = await mkdtemp(join(tmpdir(), "status-prometheus-"));
  const config = `global: {scrape_interval: 1s}\nscrape_configs: [{job_name: pod, metrics_path: /stats/prometheus, static_configs: [{targets: ${JSON.stringify(targets.map((target) => `127.0.0.1:${target}`))}}]}]\n`;
  await writeFile(join(folder, "prometheus.yml"), config);
  const flags = {
    "config.file": "prometheus.yml",
    "storage.tsdb.path": "data",
    "web.listen-address": `127.0.0.1:${port}`,
  };
  const words = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child: ChildProcess = spawn("prometheus", words, { cwd: folder, stdio: "ignore" });
  const exited = new Promise((done) => child.once("exit", done));
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await until(async () => {
      const { status } = await fetchBytes(port, "/-/ready").catch(() => ({ status: 0 }));
      return status === 200 ? undefined : `Prometheus is not ready: ${status}`;
    });
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    /** The value of the first series that the expression finds. */
    async value(expression: string): Promise<string | undefined> {
      const { text } = await fetchBytes(port, `/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data } = JSON.parse(text) as { data: { result: { value: [number, string] }[] } };
      return data.result[0]?.value[1];
    },
    async targetError(): Promise<string | undefined> {
      const { text } = await fetchBytes(port, "/api/v1/targets");
      const { data } = JSON.parse(text) as { data: { activeTargets: { lastError: string }[] } };
      return data.activeTargets[0]?.lastError;
    },
    [Symbol.asyncDispose]: stop,
  };
}
