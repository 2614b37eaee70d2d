import { isMainThread, parentPort, workerData } from "node:worker_threads";
import type { ThreadData } from "./thread-messages.ts";
import { serveThread } from "./worker.ts";

/**
 * This file is a program for a worker, and names its own file for whoever starts one: the bundler gives a file that is imported
 * dynamically a chunk of its own, wherever that may lie.
 */
export const WORKER_URL = new URL(import.meta.url);

if (!isMainThread && parentPort !== null && isThreadData(workerData)) serveThread(parentPort, workerData);

/** Workers of other programs may import this file too. */
function isThreadData(data: unknown): data is ThreadData {
  return typeof data === "object" && data !== null && "dnsThread" in data;
}
