import type { DirectResponseAction } from "../../../protocol/gen/envoy/config/route/v3.ts";
import type { HttpDirectResponse } from "../../specs/virtual-service.ts";

export function buildDirectResponse({ status, body }: HttpDirectResponse): DirectResponseAction {
  if (body?.bytes !== undefined) return { status, body: { inlineBytes: body.bytes } };
  return body?.string !== undefined ? { status, body: { inlineString: body.string } } : { status };
}
