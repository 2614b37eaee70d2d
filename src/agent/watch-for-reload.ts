import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { watchContents } from "../files/watch/watch-contents.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";

/** A bootstrap is edited by hand or swapped in as a whole: a moment is enough for the edit to be complete. */
const BOOTSTRAP_SETTLE_MS = 1000;

/**
 * In hot restart mode, what Envoy cannot take up while running asks for a new epoch: its bootstrap file, template or override, and up to
 * 1.6 the certificates of the metrics and access log services. Files that do not exist yet count from when they do.
 */
export function watchForReload(config: AgentConfig, reload: (reason: string) => void, log: Logger): Handle[] {
  return [
    watchFiles(bootstrapFiles(config), "the bootstrap has changed", BOOTSTRAP_SETTLE_MS),
    ...(config.generation.reloadsServiceCertificates
      ? [watchFiles(serviceCertificates(config), "certificates have changed")]
      : []),
  ].filter((handle) => handle !== undefined);

  function watchFiles(files: readonly string[], reason: string, settleMs?: number): Handle | undefined {
    if (files.length === 0) return undefined;
    let isFirst = true;
    return watchContents({
      files,
      log,
      ...(settleMs !== undefined && { settleMs }),
      onChange: () => {
        // The first report is what the running Envoy was started with.
        if (!isFirst) reload(reason);
        isFirst = false;
      },
    });
  }
}

function bootstrapFiles({ proxyConfig, envoy }: AgentConfig): string[] {
  const { customConfigFile, proxyBootstrapTemplatePath } = proxyConfig;
  const template = envoy.bootstrapTemplate || proxyBootstrapTemplatePath;
  return [customConfigFile || template, envoy.bootstrapOverride].filter(
    (path) => path !== undefined && path !== "",
  ) as string[];
}

function serviceCertificates({ proxyConfig }: AgentConfig): string[] {
  return [proxyConfig.envoyMetricsService, proxyConfig.envoyAccessLogService].flatMap((service) => {
    const tls = service?.tlsSettings;
    if (tls === undefined || tls.mode === undefined || tls.mode === "DISABLE") return [];
    return [tls.caCertificates, tls.clientCertificate, tls.privateKey].filter(
      (path) => path !== undefined && path !== "",
    ) as string[];
  });
}
