import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface OrdinaryUser extends Disposable {
  readonly uid: number;
  readonly home: string;
  /** Words in front of a command that make it this user's. */
  readonly wrapper: readonly string[];
}

let count = 0;

/** Somebody without rights and without an account, with a home directory of their own. Needs root to become them. */
export function ordinaryUser(): OrdinaryUser {
  count += 1;
  const uid = 61_000 + (process.pid % 1000) * 4 + count;
  const home = mkdtempSync(join(tmpdir(), "ordinary-user-"));
  chownSync(home, uid, uid);
  const identity = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  return {
    uid,
    home,
    wrapper: ["setpriv", ...identity, "--inh-caps=-all", "env", `HOME=${home}`],
    [Symbol.dispose]() {
      rmSync(home, { recursive: true, force: true });
    },
  };
}
