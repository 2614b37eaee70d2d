import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { watchFiles } from "../files/watch/watch-files.ts";
import type { KeyOptions } from "../protocol/x509/key-pair.ts";
import { CaMaterialError, SignError } from "./ca-server-error.ts";
import { currentLimits, type TtlLimits } from "./core/leaf-ttl.ts";
import { checkMaterial, type MaterialTexts, mayReplaceRoots, type SigningMaterial } from "./core/signing-material.ts";
import { issueServerCertificate, type ServerCertificate, type SignRequest, signCsr } from "./issue.ts";
import { readPluggedIn } from "./material/plugged-in.ts";
import { openSelfSigned } from "./material/self-signed-source.ts";
import type { SharedRootStore } from "./material/self-signed-store.ts";
import type { MaterialSource, SourceOptions } from "./material/source.ts";

const HOUR_MS = 3_600_000;
const DEFAULT_TTL: TtlLimits = { defaultMs: 24 * HOUR_MS, maxMs: 2160 * HOUR_MS };

export interface AuthorityOptions {
  /** A plugged-in CA (`ca-cert.pem` ... or `tls.crt` ...), or where the self-signed root lives; created when missing. */
  readonly directory: string;
  readonly trustDomain: string;
  readonly log: Logger;
  /** Of workload certificates; 24 h and 90 days. */
  readonly ttl?: Partial<TtlLimits>;
  readonly selfSigned?: {
    /** Where the root lives instead of in the directory. */
    readonly store?: SharedRootStore;
    readonly key?: KeyOptions;
    readonly lifetimeMs?: number;
    /** Zero or less: never renewed. */
    readonly checkIntervalMs?: number;
    /** Renewed when no more than this share of its life is left. */
    readonly gracePercent?: number;
    /** The first check is at a random time of the interval, so that replicas do not renew together; true when absent. */
    readonly spreadsChecks?: boolean;
  };
  /** A reload of a plugged-in CA may add roots to the bundle or take some away. */
  readonly allowsSeveralRoots?: boolean;
  readonly debounceMs?: number;
  readonly pollMs?: number;
  readonly now?: () => Date;
  readonly random?: () => number;
}

/** Signs with the current material. Two on one directory share their root. */
export interface Authority extends Handle {
  readonly kind: MaterialSource["kind"];
  readonly material: SigningMaterial;
  /** Rejects with a `SignError`. */
  sign(request: SignRequest): Promise<readonly string[]>;
  /** For the TLS port of the process itself: as long-lived as a root unless said otherwise. */
  issueServer(hosts: readonly string[], lifetimeMs?: number): Promise<ServerCertificate>;
  /** Called after new material is in use. Returns the way to end it. */
  onChange(listener: (material: SigningMaterial) => void): () => void;
}

/** Loads the CA, or makes a self-signed one. Rejects with a `CaMaterialError` when what lies in the directory cannot be used. */
export async function startAuthority(options: AuthorityOptions): Promise<Authority> {
  const now = options.now ?? (() => new Date());
  const ttl = usableLimits(options);
  const serverLifetimeMs = options.selfSigned?.lifetimeMs ?? 87_600 * HOUR_MS;
  const source = await openSource(options, now);
  let material = source.initial;
  currentLimits(ttl, material, now());
  const listeners = new Set<(material: SigningMaterial) => void>();
  const stop = source.follow((next) => {
    material = next;
    for (const listener of listeners) listener(next);
  });
  const context = () => ({ material, now: now(), log: options.log });
  return toHandle({
    kind: source.kind,
    get material() {
      return material;
    },
    sign: async (request: SignRequest) => signCsr(request, limitsOrNotReady(ttl, material, now()), context()),
    issueServer: (hosts: readonly string[], lifetimeMs = serverLifetimeMs) =>
      issueServerCertificate(hosts, lifetimeMs, context()),
    onChange: (listener: (material: SigningMaterial) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ended: new Promise<void>(() => undefined),
    stop,
  });
}

/** Certificates that expire at once are of no use: such limits are logged and ignored. */
function usableLimits({ ttl: asked = {}, log }: AuthorityOptions): TtlLimits {
  const usable = (name: keyof TtlLimits) => {
    const ms = asked[name] ?? DEFAULT_TTL[name];
    if (ms >= 1000) return ms;
    log.warn("life of certificates is too short to use, the default is taken", { [name]: ms, used: DEFAULT_TTL[name] });
    return DEFAULT_TTL[name];
  };
  return { defaultMs: usable("defaultMs"), maxMs: usable("maxMs") };
}

async function openSource(options: AuthorityOptions, now: () => Date): Promise<MaterialSource> {
  const { directory, trustDomain, log, selfSigned } = options;
  const pluggedIn = await openPluggedIn({
    directory,
    log,
    now,
    allowsSeveralRoots: options.allowsSeveralRoots ?? false,
    debounceMs: options.debounceMs ?? 100,
    pollMs: options.pollMs ?? 30_000,
  });
  if (pluggedIn !== undefined) return pluggedIn;
  return openSelfSigned({
    directory,
    shared: selfSigned?.store,
    trustDomain,
    log,
    now,
    random: selfSigned?.spreadsChecks === false ? () => 0 : (options.random ?? Math.random),
    key: selfSigned?.key ?? { type: "rsa", bits: 2048 },
    lifetimeMs: selfSigned?.lifetimeMs ?? 87_600 * HOUR_MS,
    checkIntervalMs: selfSigned?.checkIntervalMs ?? HOUR_MS,
    gracePercent: selfSigned?.gracePercent ?? 20,
  });
}

function limitsOrNotReady(ttl: TtlLimits, material: SigningMaterial, now: Date): TtlLimits {
  try {
    return currentLimits(ttl, material, now);
  } catch (cause) {
    throw new SignError("CA_NOT_READY", errorMessage(cause), { cause });
  }
}

interface PluggedInOptions extends SourceOptions {
  readonly directory: string;
  readonly allowsSeveralRoots: boolean;
  readonly debounceMs: number;
  readonly pollMs: number;
}

/** The CA of the directory; undefined when it holds none. Later changes are taken only when they are usable as a whole. */
async function openPluggedIn(options: PluggedInOptions): Promise<MaterialSource | undefined> {
  const texts = await readPluggedIn(options.directory);
  if (texts === undefined) return undefined;
  const initial = checkMaterial(texts, options.now());
  return { kind: "plugged-in", initial, follow: (use) => follow(options, { texts, material: initial }, use) };
}

interface Seen {
  readonly texts: MaterialTexts;
  readonly material: SigningMaterial;
}

function follow(options: PluggedInOptions, first: Seen, use: (material: SigningMaterial) => void): () => Promise<void> {
  const { directory, debounceMs, pollMs, log } = options;
  let seen = first;
  let complained: string | undefined;
  const look = async () => {
    try {
      const next = await readChange(options, seen);
      complained = undefined;
      if (next === undefined) return;
      seen = next;
      use(next.material);
      log.info("signing certificate reloaded", { directory, serial: next.material.certificate.serial });
    } catch (failure) {
      const text = errorMessage(failure);
      // Polling meets the same broken files again and again: one line is enough.
      if (text !== complained)
        log.error("new signing certificate not used, the old one stays", { directory, error: text });
      complained = text;
    }
  };
  const watching = watchFiles({ paths: [directory], debounceMs, rescanMs: pollMs, log, onEvent: look });
  return async () => (await watching).stop();
}

async function readChange(options: PluggedInOptions, seen: Seen): Promise<Seen | undefined> {
  const texts = await readPluggedIn(options.directory);
  if (texts === undefined) throw new CaMaterialError("incomplete-bundle", "the signing CA bundle is gone");
  if (isSame(texts, seen.texts)) return undefined;
  const material = checkMaterial(texts, options.now());
  if (mayReplaceRoots(seen.material.roots, material.roots, options.allowsSeveralRoots)) return { texts, material };
  const text = "the root certificates changed, which would cut off every workload that trusts the old ones";
  throw new CaMaterialError("root-changed", text);
}

function isSame(one: MaterialTexts, other: MaterialTexts): boolean {
  return (["certificate", "key", "chain", "root", "crl"] as const).every((part) => one[part] === other[part]);
}
