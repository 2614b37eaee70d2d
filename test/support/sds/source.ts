import { Secret } from "../../../src/base/secret.ts";
import type { SecretSource, SourceSecret } from "../../../src/sds/secret-source.ts";

/** Secrets the test sets by hand. */
export interface TestSource extends SecretSource {
  /** Sets the content under a name and tells who listens. */
  set(name: string, content: string): void;
  /** Makes `get` reject from now on. */
  fail(name: string, message: string): void;
  /** Makes `get` wait until the name is set or fails. */
  hold(name: string): void;
  /** Tells listeners without a change. */
  touch(name: string): void;
  remove(name: string): void;
  readonly listenerCount: number;
  readonly gets: number;
}

export function createTestSource(initial: Readonly<Record<string, string>> = {}): TestSource {
  const secrets = new Map<string, SourceSecret>();
  const failures = new Map<string, string>();
  const held = new Map<string, (() => void)[]>();
  const listeners = new Map<string, Set<() => void>>();
  let gets = 0;
  const tell = (name: string) => {
    for (const release of held.get(name) ?? []) release();
    held.delete(name);
    for (const listener of [...(listeners.get(name) ?? [])]) listener();
  };
  const put = (name: string, content: string) => {
    secrets.set(name, build(name, content));
    failures.delete(name);
  };
  for (const [name, content] of Object.entries(initial)) put(name, content);
  return {
    get gets() {
      return gets;
    },
    get listenerCount() {
      return [...listeners.values()].reduce((sum, each) => sum + each.size, 0);
    },
    get: async (name, signal) => {
      gets += 1;
      const waiters = held.get(name);
      if (waiters !== undefined) {
        await new Promise<void>((resolve, reject) => {
          waiters.push(resolve);
          signal?.addEventListener("abort", () => reject(new Error("cancelled")), { once: true });
        });
      }
      const failure = failures.get(name);
      if (failure !== undefined) throw Object.assign(new Error(failure), { code: failure });
      return secrets.get(name);
    },
    onChange: (name, listener) => {
      const own = () => listener();
      listeners.set(name, (listeners.get(name) ?? new Set()).add(own));
      return () => listeners.get(name)?.delete(own);
    },
    set: (name, content) => {
      put(name, content);
      tell(name);
    },
    fail: (name, message) => {
      failures.set(name, message);
      tell(name);
    },
    hold: (name) => void held.set(name, []),
    touch: tell,
    remove: (name) => {
      secrets.delete(name);
      tell(name);
    },
  };
}

function build(name: string, content: string): SourceSecret {
  const bytes = Buffer.from(content);
  if (name.startsWith("ROOT"))
    return { kind: "trust-bundle", name, roots: bytes, crlPath: undefined, version: content };
  const privateKey = new Secret(Buffer.from(`key of ${content}`));
  return { kind: "key-pair", name, certificateChain: bytes, privateKey, version: content };
}
