import { createPublicKey, type KeyObject } from "node:crypto";
import { join } from "node:path";
import type { Secret } from "../../base/secret.ts";
import { encodePrivateKey, generateKeyPair, type KeyOptions, parsePrivateKey } from "../../protocol/x509/key-pair.ts";
import { CaMaterialError } from "../ca-server-error.ts";
import { selfSignedRoot } from "../core/self-signed.ts";
import { randomSerial } from "../random-serial.ts";
import { createOnce, keepPrivate, makePrivateDirectory, replaceMaterial } from "./create-once.ts";
import { GENERATED_MARKER, readText } from "./plugged-in.ts";

/** A root as text. */
export interface RootTexts {
  readonly certificate: string;
  readonly key: Secret;
}

/** Where control planes of several machines share one root, in place of a directory. */
export interface SharedRootStore {
  /** For messages. */
  readonly location: string;
  read(): Promise<RootTexts | undefined>;
  /** Stores it unless there is one already; resolves with the one that is stored then. */
  create(root: RootTexts): Promise<RootTexts>;
  /** A new certificate of the same key. */
  replace(root: RootTexts): Promise<void>;
}

export interface SelfSignedOptions {
  readonly directory: string;
  readonly shared?: SharedRootStore | undefined;
  readonly trustDomain: string;
  readonly key: KeyOptions;
  readonly lifetimeMs: number;
  readonly now: () => Date;
}

/** The key signs, the certificate says so. */
export interface StoredRoot {
  readonly certificatePem: string;
  readonly key: KeyObject;
}

const KEY_FILE = "ca-key.pem";
const CERTIFICATE_FILE = "ca-cert.pem";
/** What users copy to their workloads; always the same as the certificate. */
const ROOT_FILE = "root-cert.pem";

/**
 * Loads the root that lives in the directory, or makes it. The key is created first and only once, the certificate is derived from it:
 * a crash in between is completed by the next start, and parallel starters end with the same root.
 */
export async function loadOrCreateRoot(options: SelfSignedOptions): Promise<StoredRoot> {
  const { directory, shared } = options;
  if (shared !== undefined) return loadOrCreateShared(shared, options);
  await makePrivateDirectory(directory);
  await createOnce(join(directory, GENERATED_MARKER), "", 0o600);
  const key = await loadOrCreateKey(options);
  await createOnceMissing(join(directory, CERTIFICATE_FILE), () => newRoot(key, options), 0o644);
  const certificatePem = await readRoot(options);
  if (certificatePem === undefined) {
    throw new CaMaterialError("unreadable", `${CERTIFICATE_FILE} vanished from ${directory} while it was read`);
  }
  if ((await readText(join(directory, ROOT_FILE))) !== certificatePem) {
    await replaceMaterial(join(directory, ROOT_FILE), certificatePem, 0o644);
  }
  return { certificatePem, key };
}

/** The stored certificate, when another process may have renewed it; undefined when it is not there. */
export async function readRoot({ directory, shared }: SelfSignedOptions): Promise<string | undefined> {
  return shared === undefined ? readText(join(directory, CERTIFICATE_FILE)) : (await shared.read())?.certificate;
}

/** A new certificate for the same key and subject, so that chains made under the old one verify under the new one as well. */
export async function renewRoot(key: KeyObject, options: SelfSignedOptions): Promise<StoredRoot> {
  const certificatePem = await newRoot(key, options);
  if (options.shared !== undefined) {
    await options.shared.replace({ certificate: certificatePem, key: encodePrivateKey(key, true) });
    return { certificatePem, key };
  }
  await replaceMaterial(join(options.directory, CERTIFICATE_FILE), certificatePem, 0o644);
  await replaceMaterial(join(options.directory, ROOT_FILE), certificatePem, 0o644);
  return { certificatePem, key };
}

/** Of several starters one stores its root, and all end with that one. */
async function loadOrCreateShared(store: SharedRootStore, options: SelfSignedOptions): Promise<StoredRoot> {
  const create = async () => {
    const { privateKey } = await generateKeyPair(options.key);
    return store.create({
      certificate: await newRoot(privateKey, options),
      key: encodePrivateKey(privateKey, true),
    });
  };
  const { certificate, key } = (await store.read()) ?? (await create());
  return { certificatePem: certificate, key: parseStoredKey(key.reveal(), store.location) };
}

async function loadOrCreateKey(options: SelfSignedOptions): Promise<KeyObject> {
  const path = join(options.directory, KEY_FILE);
  const orphan = await readText(join(options.directory, CERTIFICATE_FILE));
  if ((await readText(path)) === undefined) {
    if (orphan !== undefined) {
      const text = `${path} is missing but its certificate is there: restore the key, or remove ${CERTIFICATE_FILE} for a new root`;
      throw new CaMaterialError("incomplete-bundle", text);
    }
    const { privateKey } = await generateKeyPair(options.key);
    await createOnce(path, encodePrivateKey(privateKey, false).reveal(), 0o600);
  }
  const key = parseStoredKey((await readText(path)) ?? "", path);
  await keepPrivate(path);
  return key;
}

function parseStoredKey(pem: string, path: string): KeyObject {
  try {
    return parsePrivateKey(pem);
  } catch (cause) {
    throw new CaMaterialError("bad-key", `${path}: failed to parse private key PEM`, { cause });
  }
}

async function createOnceMissing(path: string, make: () => Promise<string>, mode: number): Promise<void> {
  if ((await readText(path)) === undefined) await createOnce(path, await make(), mode);
}

async function newRoot(key: KeyObject, options: SelfSignedOptions): Promise<string> {
  const notBefore = options.now();
  const notAfter = new Date(notBefore.getTime() + options.lifetimeMs);
  const keys = { privateKey: key, publicKey: createPublicKey(key) };
  return selfSignedRoot(keys, options.trustDomain, { notBefore, notAfter, serial: randomSerial() });
}
