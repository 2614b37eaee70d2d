import type { Destination, HttpRoute } from "../../istio-api/specs.ts";
import type { RouteAction_RequestMirrorPolicy } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { FractionalPercent } from "../../protobuf/gen/envoy/type/v3.ts";
import { resolveDestination } from "./destination.ts";
import { buildFraction, buildPercent } from "./envoy-values.ts";
import type { RouteLookup } from "./route-configuration.ts";

/** Where copies of the requests go. Nothing goes to a mirror of 0 percent; one without percentage gets a copy of each request. */
export function buildMirrors(
  http: HttpRoute,
  listenerPort: number,
  lookup: RouteLookup,
): readonly RouteAction_RequestMirrorPolicy[] {
  return mirrorsOf(http).flatMap(({ destination, share }) =>
    destination === undefined || share === undefined
      ? []
      : {
          cluster: resolveDestination(destination, listenerPort, lookup).cluster,
          runtimeFraction: { defaultValue: share },
          traceSampled: false,
          // Otherwise the copy's host would be another one than the request's.
          disableShadowHostSuffixAppend: true,
        },
  );
}

interface Mirror {
  readonly destination: Destination | undefined;
  /** Undefined: none at all. */
  readonly share: FractionalPercent | undefined;
}

function mirrorsOf({ mirror, mirrors, mirrorPercent, mirrorPercentage }: HttpRoute): readonly Mirror[] {
  const own = mirrorPercentage || mirrorPercent === undefined ? shareOf(mirrorPercentage) : wholePercent(mirrorPercent);
  return [
    ...(mirror === undefined ? [] : [{ destination: mirror, share: own }]),
    ...mirrors.map(({ destination, percentage }) => ({
      destination,
      share: shareOf(percentage),
    })),
  ];
}

function shareOf(percentage: HttpRoute["mirrorPercentage"]): FractionalPercent | undefined {
  if (percentage === undefined) return buildPercent(100);
  return percentage.value > 0 ? buildFraction(percentage.value) : undefined;
}

function wholePercent(percent: number): FractionalPercent | undefined {
  return percent > 0 ? buildPercent(percent) : undefined;
}
