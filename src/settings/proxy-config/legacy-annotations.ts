import type { Logger } from "../../base/logger.ts";
import { goIntProblem, parseGoInt } from "../../base/parse-go-scalar.ts";
import type { ConfigProblem } from "../../istio-api/config-problem.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { addressProblem } from "../../istio-api/values/address.ts";

const DISCOVERY_ADDRESS = "sidecar.istio.io/discoveryAddress";
const STATUS_PORT = "status.sidecar.istio.io/port";

/**
 * Two annotations that win over everything. A bad address is a problem now, not an endless series of connection errors later; a bad
 * port is logged and the configured one stays, so that the pod still gets ready.
 */
export function applyLegacyAnnotations(
  config: ProxyConfig,
  annotations: ReadonlyMap<string, string>,
  log: Logger,
): { readonly config: ProxyConfig; readonly problems: readonly ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const discoveryAddress = annotations.get(DISCOVERY_ADDRESS);
  if (discoveryAddress !== undefined) {
    const reason = addressProblem(discoveryAddress);
    if (reason !== undefined) {
      const message = `invalid discovery address: ${reason}`;
      problems.push({
        source: `annotation ${DISCOVERY_ADDRESS}`,
        message,
        value: discoveryAddress,
        allowed: "host:port",
      });
    }
  }
  const statusPort = readStatusPort(annotations.get(STATUS_PORT), log);
  const changes = {
    ...(discoveryAddress !== undefined && { discoveryAddress }),
    ...(statusPort !== undefined && { statusPort }),
  };
  return { config: { ...config, ...changes }, problems };
}

/** Zero and below turn the status server off. */
function readStatusPort(text: string | undefined, log: Logger): number | undefined {
  if (text === undefined) return undefined;
  const port = parseGoInt(text);
  if (port !== undefined && port <= 65535) return Math.max(0, port);
  const reason = port === undefined ? goIntProblem(text) : `port number ${port} must be at most 65535`;
  log.error(`Invalid annotation ${STATUS_PORT}=${text}: ${reason}`);
  return undefined;
}
