import { readFile } from "node:fs/promises";
import { abortAfter } from "../base/abort-after.ts";
import { deepFreeze } from "../base/deep-freeze.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { Cloud, PlatformAccess, PlatformContext } from "./platform-access.ts";
import { NO_PLATFORM, type PlatformInfo, type PlatformName, type PlatformSettings } from "./platform-info.ts";

/** Firmware of the clouds whose metadata the detection looks for. */
const CLOUD_FIRMWARE = /Amazon|Google|Microsoft Corporation/;
const FIRMWARE_FILES = ["sys_vendor", "product_name", "bios_vendor"].map((name) => `/sys/class/dmi/id/${name}`);
const PATIENCE_MS = 200;

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

/** Returns at once; the answer comes when it comes. */
export function startPlatformDetection({ settings, log, access }: PlatformOptions): PlatformDetection {
  const stopped = new AbortController();
  const aborted = new Promise<PlatformInfo>((resolve) => {
    stopped.signal.addEventListener("abort", () => resolve(NO_PLATFORM), { once: true });
  });
  const result = Promise.race([readPlatform({ settings, log, access, signal: stopped.signal }), aborted]);
  const stop = async () => {
    stopped.abort();
    await result;
  };
  return { result, stop, [Symbol.asyncDispose]: stop };
}

type UnknownAccess = Omit<PlatformContext, "access"> & { readonly access: PlatformAccess | undefined };

async function readPlatform({ access, ...known }: UnknownAccess): Promise<PlatformInfo> {
  const { choice } = known.settings;
  if (choice === "none") return NO_PLATFORM;
  try {
    // Who has no cloud does not wait for its code, nor for Node's HTTPS client behind it.
    const { CLOUDS, cloudAccess } = await import("./clouds.ts");
    const context: PlatformContext = { ...known, access: access ?? cloudAccess };
    const name = choice === "detect" ? await detect(context, CLOUDS) : choice;
    const cloud = CLOUDS.find((candidate) => candidate.name === name);
    return deepFreeze(cloud === undefined ? NO_PLATFORM : await cloud.read(context));
  } catch (thrown) {
    known.log.debug(`platform metadata is not available: ${String(thrown)}`);
    return NO_PLATFORM;
  }
}

/** All probes at once, the first positive wins and ends the others; three quick negatives need no time limit. */
async function detect(context: PlatformContext, clouds: readonly Cloud[]): Promise<PlatformName> {
  const limit = abortAfter(context.access.timeouts.detectionMs, context.signal);
  const over = new AbortController();
  const follow = () => over.abort();
  limit.signal.addEventListener("abort", follow, { once: true });
  const probes = clouds.map(async (cloud) => {
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

/**
 * The platform, for node metadata. On a machine whose firmware names a cloud, or when one was configured, the answer is worth waiting
 * for; anywhere else it would only be the time limit of probes without answer, and the start goes on without it.
 */
export async function waitForPlatform(settings: PlatformSettings, detection: PlatformDetection): Promise<PlatformInfo> {
  if (settings.choice !== "detect" || settings.gcpMetadata !== "" || (await isCloudMachine())) return detection.result;
  const enough = new AbortController();
  const patience = wait(PATIENCE_MS, enough.signal).then(() => NO_PLATFORM);
  const platform = await Promise.race([detection.result, patience]);
  enough.abort();
  return platform;
}

async function isCloudMachine(): Promise<boolean> {
  const texts = await Promise.all(FIRMWARE_FILES.map((path) => readFile(path, "utf8").catch(() => "")));
  return texts.some((text) => CLOUD_FIRMWARE.test(text));
}
