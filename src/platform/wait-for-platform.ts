import { readFile } from "node:fs/promises";
import { wait } from "../base/wait.ts";
import type { PlatformDetection } from "./detect-platform.ts";
import { NO_PLATFORM, type PlatformInfo, type PlatformSettings } from "./platform-info.ts";

/** Firmware of the clouds whose metadata the detection looks for. */
const CLOUD_FIRMWARE = /Amazon|Google|Microsoft Corporation/;
const FIRMWARE_FILES = ["sys_vendor", "product_name", "bios_vendor"].map((name) => `/sys/class/dmi/id/${name}`);
const PATIENCE_MS = 200;

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
