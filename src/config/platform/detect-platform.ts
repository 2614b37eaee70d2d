import { abortAfter } from "../../base/abort-after.ts";
import type { Logger } from "../../base/logger.ts";
import { deepFreeze } from "../deep-freeze.ts";
import { detectAws, readAws } from "./aws.ts";
import { detectAzure, readAzure } from "./azure.ts";
import { detectGcp, readGcp } from "./gcp.ts";
import { cloudAccess, type PlatformAccess } from "./platform-access.ts";
import { NO_PLATFORM, type PlatformInfo, type PlatformName, type PlatformSettings } from "./platform-info.ts";

export interface PlatformOptions {
  readonly settings: PlatformSettings;
  readonly log: Logger;
  readonly access?: PlatformAccess;
}

/** A detection that runs beside the start-up. */
export interface PlatformDetection extends AsyncDisposable {
  /** Never rejects; `none` when nothing was found, on the time limit and after a stop. */
  readonly result: Promise<PlatformInfo>;
  stop(): Promise<void>;
}

/** What a platform's file is given. */
export interface PlatformContext {
  readonly settings: PlatformSettings;
  readonly access: PlatformAccess;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** All are asked at once, so the order decides nothing. */
const CLOUDS = [
  { name: "gcp", title: "GCP", detect: detectGcp },
  { name: "aws", title: "AWS", detect: detectAws },
  { name: "azure", title: "Azure", detect: detectAzure },
] as const;

/** Returns at once; the answer comes when it comes. */
export function startPlatformDetection({ settings, log, access = cloudAccess }: PlatformOptions): PlatformDetection {
  const stopped = new AbortController();
  const context: PlatformContext = { settings, access, log, signal: stopped.signal };
  const aborted = new Promise<PlatformInfo>((resolve) => {
    stopped.signal.addEventListener("abort", () => resolve(NO_PLATFORM), { once: true });
  });
  const result = Promise.race([readPlatform(context), aborted]);
  const stop = async () => {
    stopped.abort();
    await result;
  };
  return { result, stop, [Symbol.asyncDispose]: stop };
}

async function readPlatform(context: PlatformContext): Promise<PlatformInfo> {
  try {
    const { choice } = context.settings;
    const name = choice === "detect" ? await detect(context) : choice;
    return deepFreeze(await readInfo(name, context));
  } catch (thrown) {
    context.log.debug(`platform metadata is not available: ${String(thrown)}`);
    return NO_PLATFORM;
  }
}

function readInfo(name: PlatformName, context: PlatformContext): Promise<PlatformInfo> | PlatformInfo {
  if (name === "aws") return readAws(context);
  if (name === "azure") return readAzure(context);
  return name === "gcp" ? readGcp(context) : NO_PLATFORM;
}

/** All probes at once, the first positive wins and ends the others; three quick negatives need no time limit. */
async function detect(context: PlatformContext): Promise<PlatformName> {
  const limit = abortAfter(context.access.timeouts.detectionMs, context.signal);
  const over = new AbortController();
  const follow = () => over.abort();
  limit.signal.addEventListener("abort", follow, { once: true });
  const probes = CLOUDS.map(async (cloud) => {
    if (!(await cloud.detect({ ...context, signal: over.signal }))) throw new Error(`not on ${cloud.title}`);
    return cloud;
  });
  const ended = new Promise<undefined>((resolve) => {
    limit.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  try {
    const found = await Promise.race([Promise.any(probes).catch(() => undefined), ended]);
    if (found === undefined) {
      if (limit.expired) context.log.info("timed out waiting for platform detection, treating it as Unknown");
      return "none";
    }
    context.log.info(`platform detected is ${found.title}`);
    return found.name;
  } finally {
    limit.end();
    over.abort();
  }
}
