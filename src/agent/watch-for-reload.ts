import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { readTextLimited } from "../files/read-file.ts";
import { watchContents } from "../files/watch/watch-contents.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { MOUNTED_CERTS } from "../settings/well-known-paths.ts";
import {
  type CertificateFileSet,
  certificateFileSet,
  certificateFilesOf,
  joinCertificateFiles,
  unmatchedPair,
} from "./certificate-files.ts";

/** A bootstrap is edited by hand or swapped in as a whole: a moment is enough for the edit to be complete. */
const BOOTSTRAP_SETTLE_MS = 1000;
/** From the first event: a chain, its key and the root are often written one after the other. */
const CERTIFICATE_SETTLE_MS = 2000;

export interface ReloadWatch {
  readonly config: Pick<AgentConfig, "proxyConfig"> & {
    readonly bootstrap: Pick<AgentConfig["bootstrap"], "template" | "override">;
  };
  readonly log: Logger;
  reload(reason: string): void;
  readonly settleMs?: number;
}

/**
 * In hot restart mode, what Envoy cannot take up while running asks for a new epoch: its bootstrap file, template or override, and the
 * certificate files that these, the metrics and the access log service name, and those in /etc/certs. Files that do not exist yet count
 * from when they do.
 */
export async function watchForReload(options: ReloadWatch): Promise<Handle> {
  const { config, log, reload } = options;
  let certificates = await watchCertificates(options);
  let following: Promise<void> = Promise.resolve();
  let isStopped = false;
  const bootstrap = watchChanges(bootstrapFiles(config), options.settleMs ?? BOOTSTRAP_SETTLE_MS, log, () => {
    reload("the bootstrap has changed");
    // It may name other certificates now.
    following = following.then(async () => {
      await certificates.stop();
      if (!isStopped) certificates = await watchCertificates(options);
    });
  });
  return toHandle({
    ended: new Promise<void>(() => undefined),
    async stop() {
      isStopped = true;
      await bootstrap.stop();
      await following;
      await certificates.stop();
    },
  });
}

async function watchCertificates({ config, log, reload, settleMs }: ReloadWatch): Promise<Handle> {
  const watched = joinCertificateFiles([
    certificateFileSet(MOUNTED_CERTS.chain, MOUNTED_CERTS.key, [MOUNTED_CERTS.root]),
    ...serviceCertificates(config),
    ...(await Promise.all(bootstrapDocuments(config).map(readCertificateFiles))),
  ]);
  return watchChanges(watched.files, settleMs ?? CERTIFICATE_SETTLE_MS, log, () => {
    const unmatched = unmatchedPair(watched);
    if (unmatched === undefined) reload("certificates have changed");
    // The change that completes the pair is reported as well.
    else log.info("Certificate files have changed, but a key does not match its chain yet", unmatched);
  });
}

function watchChanges(files: readonly string[], settleMs: number, log: Logger, onChange: () => void): Handle {
  let isFirst = true;
  return watchContents({
    files,
    log,
    settleMs,
    onChange: () => {
      // The first report is what the running Envoy was started with.
      if (!isFirst) onChange();
      isFirst = false;
    },
  });
}

/** What Envoy reads as it is; a template is text until it is filled. */
function bootstrapDocuments({ proxyConfig, bootstrap }: ReloadWatch["config"]): string[] {
  return [proxyConfig.customConfigFile ?? "", bootstrap.override].filter((path) => path !== "");
}

function bootstrapFiles({ proxyConfig, bootstrap }: ReloadWatch["config"]): string[] {
  const { customConfigFile, proxyBootstrapTemplatePath } = proxyConfig;
  const template = bootstrap.template || proxyBootstrapTemplatePath;
  return [(customConfigFile || template) ?? "", bootstrap.override].filter((path) => path !== "");
}

function serviceCertificates({ proxyConfig }: ReloadWatch["config"]): CertificateFileSet[] {
  return [proxyConfig.envoyMetricsService, proxyConfig.envoyAccessLogService].flatMap((service) => {
    const tls = service?.tlsSettings;
    if (tls === undefined || tls.mode === undefined || tls.mode === "DISABLE") return [];
    return [certificateFileSet(tls.clientCertificate ?? "", tls.privateKey ?? "", [tls.caCertificates ?? ""])];
  });
}

/** Nothing for a document that cannot be read: Envoy's own complaint about it is in the log. */
async function readCertificateFiles(path: string): Promise<CertificateFileSet> {
  try {
    const { parseYaml } = await import("../files/yaml/parse-yaml.ts");
    return certificateFilesOf(await parseYaml(await readTextLimited(path)));
  } catch {
    return certificateFileSet("", "", []);
  }
}
