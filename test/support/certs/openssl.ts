import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs openssl with files that exist for the call only; `@name` in the arguments stands for the path of file `name`. */
export function openssl(args: readonly string[], files: Readonly<Record<string, string | Buffer>> = {}): string {
  return withFiles(args, files, (resolved) => execFileSync("openssl", resolved, { encoding: "utf8", stdio: "pipe" }));
}

/** Like `openssl`, for commands that report on stderr or fail. */
export function tryOpenssl(
  args: readonly string[],
  files: Readonly<Record<string, string | Buffer>> = {},
): { readonly status: number | null; readonly output: string } {
  return withFiles(args, files, (resolved) => {
    const { status, stdout, stderr } = spawnSync("openssl", resolved, { encoding: "utf8" });
    return { status, output: `${stdout}${stderr}` };
  });
}

function withFiles<Result>(
  args: readonly string[],
  files: Readonly<Record<string, string | Buffer>>,
  run: (resolved: string[]) => Result,
): Result {
  const folder = mkdtempSync(join(tmpdir(), "openssl-"));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { mode: 0o600 });
    return run(args.map((arg) => (arg.startsWith("@") ? join(folder, arg.slice(1)) : arg)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
