import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export async function hasDnsperf(): Promise<boolean> {
  return run("dnsperf", ["-h"]).then(
    () => true,
    (failure) => failure.code !== "ENOENT",
  );
}

/** Ports the queries come from: enough that a server with several sockets gets its share on each. */
const CLIENTS = "32";

/** As many queries as the server answers, for some seconds. */
export async function throughput(
  port: number,
  queries: string,
  seconds: number,
): Promise<{ count: number; perSecond: number }> {
  const text = await dnsperf(port, queries, seconds, "-q", "200", "-c", CLIENTS);
  const figure = (label: string) => Number(new RegExp(`${label}:\\s+([\\d.]+)`).exec(text)?.[1] ?? Number.NaN);
  return { count: figure("Queries completed"), perSecond: figure("Queries per second") };
}

/** The 99th percentile of the time to an answer, in milliseconds, at a fixed rate. */
export async function p99At(port: number, queries: string, perSecond: number, seconds: number): Promise<number> {
  const text = await dnsperf(port, queries, seconds, "-v", "-Q", String(perSecond), "-c", CLIENTS);
  const latencies = [...text.matchAll(/^> .* ([\d.]+)$/gm)].map(([, latency]) => Number(latency));
  latencies.sort((left, right) => left - right);
  return (latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN) * 1000;
}

async function dnsperf(port: number, queries: string, seconds: number, ...args: readonly string[]): Promise<string> {
  const target = ["-s", "127.0.0.1", "-p", String(port), "-d", queries, "-l", String(seconds)];
  const { stdout } = await run("dnsperf", [...target, ...args], { maxBuffer: 256 * 1024 * 1024 });
  return stdout;
}
