import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "../files/replace-file.ts";
import type { Console } from "./options.ts";

/** Writes the link, which has the token, where only this user can read it: logs are read by others. Resolves to the file. */
export async function writeConsoleLink({ url, link }: Pick<Console, "url" | "link">): Promise<string> {
  const path = join(tmpdir(), `pilot-agent-console-${new URL(url).port}.link`);
  await replaceFile(path, `${link}\n`, { mode: 0o600 });
  return path;
}
