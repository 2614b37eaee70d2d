import type { OutlierDetection } from "../../istio-api/specs.ts";
import type { OutlierDetection as EnvoyOutlierDetection } from "../../protobuf/gen/envoy/config/cluster/v3.ts";

/** When an endpoint that fails is left alone for a while. Success rates are never judged: few endpoints give noisy rates. */
export function outlierDetection(settings: OutlierDetection): EnvoyOutlierDetection {
  const { consecutive5xxErrors, consecutiveGatewayErrors, interval, baseEjectionTime, maxEjectionPercent } = settings;
  return {
    ...(consecutive5xxErrors !== undefined && {
      consecutive5xx: consecutive5xxErrors,
      enforcingConsecutive5xx: enforced(consecutive5xxErrors),
    }),
    ...(consecutiveGatewayErrors !== undefined && {
      consecutiveGatewayFailure: consecutiveGatewayErrors,
      enforcingConsecutiveGatewayFailure: enforced(consecutiveGatewayErrors),
    }),
    ...(interval !== undefined && { interval }),
    ...(baseEjectionTime !== undefined && { baseEjectionTime }),
    ...(maxEjectionPercent > 0 && { maxEjectionPercent }),
    ...(settings.splitExternalLocalOriginErrors && localOrigin(settings.consecutiveLocalOriginFailures ?? 0)),
    enforcingSuccessRate: 0,
  };
}

/** Failures to connect, counted apart from answers. */
function localOrigin(failures: number): EnvoyOutlierDetection {
  return {
    splitExternalLocalOriginErrors: true,
    ...(failures > 0 && {
      consecutiveLocalOriginFailure: failures,
      enforcingConsecutiveLocalOriginFailure: enforced(failures),
    }),
    enforcingLocalOriginSuccessRate: 0,
  };
}

/** Zero errors switch the check off. */
function enforced(errors: number): number {
  return errors > 0 ? 100 : 0;
}
