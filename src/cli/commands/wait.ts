import { errorMessage } from "../../base/coded-error.ts";
import { wait } from "../../base/wait.ts";
import type { Command } from "../framework/command.ts";
import { sendRequest } from "./loopback-request.ts";

export const command: Command = {
  name: "wait",
  use: "wait",
  short: "Waits until the Envoy proxy is ready",
  example: `  # Hold a start script until traffic can flow, for at most two minutes
  pilot-agent wait --timeoutSeconds=120`,
  flags: [
    {
      name: "timeoutSeconds",
      type: "int",
      default: 60,
      usage: "maximum number of seconds to wait for Envoy to be ready",
    },
    { name: "requestTimeoutMillis", type: "int", default: 500, usage: "number of milliseconds to wait for response" },
    { name: "periodMillis", type: "int", default: 500, usage: "number of milliseconds to wait between attempts" },
    { name: "url", type: "string", default: "http://localhost:15021/healthz/ready", usage: "URL to use in requests" },
  ],
  async run({ flags, log }) {
    const seconds = flags.int("timeoutSeconds");
    log.info(`Waiting for Envoy proxy to be ready (timeout: ${seconds} seconds)...`);
    const outcome = await waitUntilReady({
      timeoutMs: seconds * 1000,
      requestTimeoutMs: flags.int("requestTimeoutMillis"),
      periodMs: flags.int("periodMillis"),
      url: flags.string("url"),
      onNotReady: (reason) => log.debug(`Not ready yet: ${reason}`),
    });
    if (outcome !== "ready") throw new Error(outcome);
    log.info("Envoy is ready!");
    return 0;
  },
};

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly periodMs: number;
  readonly url: string;
  onNotReady(reason: string): void;
}

/** Sleeps one period before each check. The overall limit cuts a sleep short, not a request that is under way. */
export async function waitUntilReady(options: WaitOptions): Promise<string> {
  const deadline = Date.now() + options.timeoutMs;
  let lastError = "<nil>";
  while (Date.now() + options.periodMs < deadline && options.timeoutMs > 0) {
    await wait(options.periodMs);
    const failure = await check(options);
    if (failure === undefined) return "ready";
    lastError = failure;
    options.onNotReady(failure);
  }
  const rest = deadline - Date.now();
  if (rest > 0) await wait(rest);
  return `timeout waiting for Envoy proxy to become ready. Last error: ${lastError}`;
}

async function check(options: WaitOptions): Promise<string | undefined> {
  try {
    const { status } = await sendRequest({ method: "GET", url: options.url, timeoutMs: options.requestTimeoutMs });
    return status === 200 ? undefined : `HTTP status code ${status}`;
  } catch (thrown) {
    return errorMessage(thrown);
  }
}
