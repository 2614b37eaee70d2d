import { type ConfigFiles, readIfPresent } from "../config-files.ts";

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
