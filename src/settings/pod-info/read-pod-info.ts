import type { Logger } from "../../base/logger.ts";
import { fileErrorText } from "../../files/read-file.ts";
import { parsePodInfo } from "../../protocol/pod-info.ts";
import { type ConfigFiles, readIfPresent } from "../config-files.ts";
import type { GenerationRules } from "../generations.ts";

export const ANNOTATIONS_PATH = "./etc/istio/pod/annotations";

/**
 * The pod's annotations from the downward API. A missing file is normal outside Kubernetes; a bad line is reported and the others still
 * count.
 */
export async function readAnnotations(
  files: ConfigFiles,
  rules: GenerationRules,
  log: Logger,
): Promise<ReadonlyMap<string, string>> {
  let text: string | undefined;
  try {
    text = await readIfPresent(files, ANNOTATIONS_PATH);
  } catch (thrown) {
    log.warn(`failed to read pod annotations: ${fileErrorText(ANNOTATIONS_PATH, thrown)}`);
    return new Map();
  }
  if (text === undefined) {
    log[rules.missingAnnotationsLevel](
      `failed to read pod annotations: open ${ANNOTATIONS_PATH}: no such file or directory`,
    );
    return new Map();
  }
  const { entries, problems } = parsePodInfo(text);
  for (const { line, message } of problems) {
    log.warn(`failed to read pod annotations: ${message} (${ANNOTATIONS_PATH} line ${line}, ignored)`);
  }
  return entries;
}

const CPU_FILES = ["./etc/istio/pod/cpu-limit", "./etc/istio/pod/cpu-request"];

/** Whole CPUs from the millicore files that injectors of 1.9 and 1.10 mounted: the limit, else the request, rounded up; 0 for none. */
export async function readCpuFiles(files: ConfigFiles): Promise<number> {
  for (const path of CPU_FILES) {
    const text = (await readIfPresent(files, path).catch(() => undefined)) ?? "";
    const millicores = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;
    if (millicores > 0) return Math.ceil(millicores / 1000);
  }
  return 0;
}
