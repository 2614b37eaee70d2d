import { rmSync } from "node:fs";
import { wait } from "../../src/base/wait.ts";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import { createTlsKeepAliveAgent } from "../../src/net/http-client/tls-keep-alive-agent.ts";
import type { BenchRow } from "../bench.ts";
import { startChild } from "../child.ts";

const WARM_REVIEWS = 3_000;
const REVIEWS = 100_000;
const AT_A_TIME = 8;
const PER_SECOND = 100;
const PACED_REVIEWS = 1_500;

/** Reviews over TLS with keep-alive: what one costs the server, how long it takes at a steady pace, and what many leave behind. */
export async function measureWebhook(pod: object, note: (text: string) => void): Promise<readonly BenchRow[]> {
  await using child = await startChild("inject/server.ts");
  const { address, folder } = await child.next<{ address: { port: number }; folder: string }>();
  const agent = createTlsKeepAliveAgent(60_000);
  const body = JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "1", kind: { kind: "Pod" }, namespace: "default", operation: "CREATE", object: pod },
  });
  const headers = { "content-type": "application/json" };
  const url = `https://127.0.0.1:${address.port}/inject?timeout=10s`;
  const ask = async () => {
    const { status } = await httpRequest({
      url,
      method: "POST",
      headers,
      body,
      agent,
      tls: { rejectUnauthorized: false },
    });
    if (status !== 200) throw new Error(`the webhook answered ${status}`);
  };
  try {
    await many(ask, WARM_REVIEWS);
    const before = { memory: child.memory().anonymous, cpu: child.cpuSeconds(), at: performance.now() };
    await many(ask, REVIEWS);
    const cpuMs = ((child.cpuSeconds() - before.cpu) * 1000) / REVIEWS;
    const perSecond = (REVIEWS * 1000) / (performance.now() - before.at);
    const after = child.memory().anonymous;
    note(
      `webhook: private memory ${before.memory.toFixed(0)} MB before, ${after.toFixed(0)} MB after ${REVIEWS} reviews`,
    );
    const latencies = await paced(ask);
    const percentile = (part: number) => latencies[Math.floor(latencies.length * part)] ?? Number.NaN;
    return [
      { name: "processor time of a review (TLS, keep-alive)", value: cpuMs, unit: "ms", goal: "under 1 ms" },
      { name: "reviews, client on the same machine", value: perSecond, unit: "1/s" },
      { name: `review at ${PER_SECOND}/s, half of them within`, value: percentile(0.5), unit: "ms" },
      { name: `review at ${PER_SECOND}/s, 99 % within`, value: percentile(0.99), unit: "ms", goal: "under 5 ms" },
      { name: `private memory after ${REVIEWS} reviews`, value: after, unit: "MB" },
      {
        name: "of which grown since the first thousands",
        value: after - before.memory,
        unit: "MB",
        goal: "under 20 MB",
      },
    ];
  } finally {
    agent.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function many(ask: () => Promise<void>, count: number): Promise<void> {
  let left = count;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await ask();
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
}

/** Begun at their times whether or not the ones before are answered; sorted milliseconds. */
async function paced(ask: () => Promise<void>): Promise<readonly number[]> {
  const startedAt = performance.now();
  const latencies: Promise<number>[] = [];
  for (let at = 0; at < PACED_REVIEWS; at += 1) {
    const due = startedAt + (at * 1000) / PER_SECOND;
    if (due > performance.now()) await wait(due - performance.now());
    const begun = performance.now();
    latencies.push(ask().then(() => performance.now() - begun));
  }
  return (await Promise.all(latencies)).toSorted((left, right) => left - right);
}
