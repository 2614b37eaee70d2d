import type { Logger } from "../base/logger.ts";
import { DiscoveryError } from "./discovery-error.ts";

interface ConfigSource {
  readonly address?: unknown;
}

/**
 * Directories that rule objects are read from: those of the mesh config's `configSources`, or the one given at the start. Sources of other
 * kinds are told and passed over.
 */
export function configDirectories(
  { configSources }: { readonly configSources?: unknown },
  configDir: string | undefined,
  log: Logger,
): readonly string[] {
  const sources = Array.isArray(configSources) ? (configSources as readonly ConfigSource[]) : [];
  const directories = sources.flatMap(({ address }) => {
    const text = String(address ?? "");
    const path = directoryOf(text);
    if (path === undefined)
      log.warn("config source is not supported and ignored, allowed is fs:///DIR", { address: text });
    return path ?? [];
  });
  if (directories.length === 0) return configDir === undefined ? [] : [configDir];
  if (configDir !== undefined) log.warn("--configDir is not read: the mesh config has configSources", { configDir });
  return [...new Set(directories)];
}

/** Undefined for sources that are no directory. */
function directoryOf(address: string): string | undefined {
  if (!address.startsWith("fs://")) return undefined;
  const [, path = ""] = /^fs:\/\/[^/]*(\/.*)?$/.exec(address) ?? [];
  if (path !== "") return decodeURIComponent(path);
  throw new DiscoveryError(
    "invalid-mesh-config",
    `mesh config: invalid fs config URL ${address}, contains no file path; expected fs:///DIR`,
  );
}
