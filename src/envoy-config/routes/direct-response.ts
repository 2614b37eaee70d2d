import type { HttpDirectResponse } from "../../istio-api/specs/virtual-service.ts";
import type { DirectResponseAction } from "../../protobuf/gen/envoy/config/route/v3.ts";

export function buildDirectResponse({ status, body }: HttpDirectResponse): DirectResponseAction {
  if (body?.bytes !== undefined) return { status, body: { inlineBytes: body.bytes } };
  return body?.string !== undefined ? { status, body: { inlineString: body.string } } : { status };
}
