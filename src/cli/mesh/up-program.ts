import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { findEnvoy } from "../../envoy/index.ts";
import type { StartMeshOptions } from "../../mesh/index.ts";
import type { CommandContext } from "../framework/command.ts";
import { createProgressLine } from "../framework/progress-line.ts";

/** The bundle lies in `dist`, this code in it or in a folder of it, and the launcher beside it in `bin`. */
export function launcherPath(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const candidates = [dirname(here), dirname(dirname(here))].map((folder) => join(folder, "bin/pilot-agent"));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the launcher is none of ${candidates.join(", ")}; run npm run build`);
  return found;
}

/** How the user can call this program again: by its name alone only where that leads to it. */
export function programCall({
  env,
  launcher,
  cwd,
}: {
  readonly env: CommandContext["env"];
  readonly launcher: string;
  readonly cwd: string;
}): string {
  const isNpx = env.npm_command === "exec" || env.npm_lifecycle_event === "npx";
  if (isNpx) return `npx ${env.npm_package_name ?? "pilot-agent"}`;
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const first = folders.map((folder) => join(folder, "pilot-agent")).find((path) => existsSync(path));
  if (first !== undefined && realpathSync(first) === realpathSync(launcher)) return "pilot-agent";
  const below = relative(cwd, launcher);
  const path = below.startsWith("..") ? launcher : `./${below}`;
  return /^[\w./+@:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

export async function envoyBinary(context: CommandContext): Promise<string> {
  const line = createProgressLine(context);
  return findEnvoy({
    explicit: undefined,
    env: context.env,
    isRoot: process.getuid?.() === 0,
    platform: `${process.platform}-${process.arch}`,
    install: true,
    progress: line.show,
  }).finally(line.end);
}

/** Behind sudo the applications stay with the user who called it. */
export function sudoUser({ SUDO_UID, SUDO_GID }: CommandContext["env"]): StartMeshOptions["appUser"] {
  const isUser = [SUDO_UID, SUDO_GID].every((id) => /^\d+$/.test(id ?? ""));
  if (!isUser || SUDO_UID === "0" || process.getuid?.() !== 0) return undefined;
  return { uid: Number(SUDO_UID), gid: Number(SUDO_GID), hasGroups: true };
}
