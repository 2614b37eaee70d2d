import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode } from "../../base/coded-error.ts";
import { Secret } from "../../base/secret.ts";
import { wait } from "../../base/wait.ts";
import type { RootTexts, SharedRootStore } from "../../ca/index.ts";
import { type ApiObject, isTransient } from "../../kubernetes/index.ts";
import type { ClusterApi } from "./cluster-api.ts";

export interface SecretRootStoreOptions {
  readonly api: ClusterApi;
  readonly namespace: string;
  /** Read in this order; made under the last one. */
  readonly names: readonly [string, ...string[]];
}

const CERTIFICATE = "ca-cert.pem";
const KEY = "ca-key.pem";
const ROOT = "root-cert.pem";
/** What the reference calls the Secret's type, and the key that distinguishes its own CA from one that was plugged in. */
const TYPE = "istio.io/ca-root";
const GENERATED = "istio-generated";

/** The self-signed root of the mesh in a Secret: replicas that start together end with the same key. */
export function createSecretRootStore({ api, namespace, names }: SecretRootStoreOptions): SharedRootStore {
  const resource = { group: "", version: "v1", plural: "secrets", namespace };
  const made = names.at(-1) ?? names[0];
  let found = made;
  const read = async (): Promise<RootTexts | undefined> => {
    for (const name of names) {
      const secret = await insist(() => api.get(resource, name)).catch(absent);
      if (secret === undefined) continue;
      found = name;
      return textsOf(secret, `${namespace}/${name}`);
    }
    return undefined;
  };
  return {
    location: `Secret ${namespace}/${made}`,
    read,
    create: async (root) => {
      const data = { ...dataOf(root), "cert-chain.pem": "", "key.pem": "" };
      const secret = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: made, namespace },
        type: TYPE,
        data: made === "cacerts" ? { ...data, [GENERATED]: "" } : data,
      };
      try {
        await insist(() => api.create(resource, secret));
        return root;
      } catch (thrown) {
        // Creating has no other thing that could be missing.
        if (errorCode(thrown) === "not-found") {
          const text = `namespace ${namespace}, where the mesh's root is stored, does not exist: create it, or name another with --namespace`;
          throw new Error(text, { cause: thrown });
        }
        const other = errorCode(thrown) === "already-exists" ? await read() : undefined;
        if (other === undefined) throw thrown;
        return other;
      }
    },
    replace: async (root) => void (await api.patch(resource, found, { data: dataOf(root) }, { type: "merge" })),
  };
}

const RETRY: BackoffOptions = { initialMs: 200, maxMs: 5000, factor: 2, jitter: 0.2 };
const MAX_TRIES = 8;

/** A server that is away for a moment, as when it is restarted, does not end the start. */
async function insist<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (thrown) {
      if (failures >= MAX_TRIES || !isTransient(thrown)) throw thrown;
      await wait(backoffDelayMs(RETRY, failures));
    }
  }
}

function absent(thrown: unknown): undefined {
  if (errorCode(thrown) !== "not-found") throw thrown;
}

function dataOf({ certificate, key }: RootTexts): Record<string, string> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return { [CERTIFICATE]: base64(certificate), [ROOT]: base64(certificate), [KEY]: base64(key.reveal()) };
}

function textsOf({ data }: ApiObject, place: string): RootTexts {
  const values = (data ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string) => {
    const value = values[key];
    if (value === undefined || value === "")
      throw new Error(`Secret ${place} has no ${key}: restore it, or delete the Secret for a new root`);
    return Buffer.from(value, "base64").toString("utf8");
  };
  return { certificate: text(CERTIFICATE), key: new Secret(text(KEY)) };
}
