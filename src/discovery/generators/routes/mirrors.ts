import type { RouteAction_RequestMirrorPolicy } from "../../../protocol/gen/envoy/config/route/v3.ts";
import type { FractionalPercent } from "../../../protocol/gen/envoy/type/v3.ts";
import type { Destination } from "../../specs/common.ts";
import type { HttpRoute } from "../../specs/virtual-service.ts";
import { resolveDestination } from "./destination.ts";
import { buildFraction, buildPercent } from "./fraction.ts";
import type { RouteLookup } from "./route-lookup.ts";

/** Where copies of the requests go. Nothing goes to a mirror of 0 percent; one without percentage gets a copy of each request. */
export function buildMirrors(
  http: HttpRoute,
  listenerPort: number,
  lookup: RouteLookup,
): readonly RouteAction_RequestMirrorPolicy[] {
  return mirrorsOf(http).flatMap(({ destination, share }) =>
    destination === undefined || share.numerator === undefined
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
  readonly share: FractionalPercent;
}

function mirrorsOf({ mirror, mirrors, mirrorPercent, mirrorPercentage }: HttpRoute): readonly Mirror[] {
  const own = mirrorPercentage ? buildFraction(mirrorPercentage.value) : buildPercent(mirrorPercent ?? 100);
  return [
    ...(mirror === undefined ? [] : [{ destination: mirror, share: own }]),
    ...mirrors.map(({ destination, percentage }) => ({
      destination,
      share: percentage ? buildFraction(percentage.value) : buildPercent(100),
    })),
  ];
}
