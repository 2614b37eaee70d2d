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
/** Workers of the test runner have users of their own: what one of them leaves or ends is found by its user. */
const FIRST = 61_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 8) * 500;

/** Somebody without rights and without an account, with a home directory of their own. Needs root to become them. */
export function ordinaryUser(): OrdinaryUser {
  count += 1;
  const uid = FIRST + count;
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
