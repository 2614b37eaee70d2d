import type { ServerCall } from "../grpc/index.ts";
import type { DiscoveryRequest, DiscoveryResponse } from "../protobuf/wire/discovery.ts";
import { SECRET_TYPE } from "../xds/type-urls.ts";
import { checkNameCount, generate } from "./generate.ts";
import type { SdsContext } from "./sds-context.ts";

/** One question, one answer. The answer has the type that was asked for, if it is one of ours. */
export async function fetchSecrets(
  context: SdsContext,
  request: DiscoveryRequest,
  call: ServerCall,
): Promise<Partial<DiscoveryResponse>> {
  checkNameCount(request.resourceNames.length);
  const secrets = await generate(context, request.resourceNames, call.signal);
  const typeUrl = SECRET_TYPE;
  const resources = secrets.flatMap((secret) =>
    secret === undefined ? [] : [{ typeUrl, value: context.encode(secret) }],
  );
  return { versionInfo: context.nextVersion(), nonce: context.nextNonce(), typeUrl, resources };
}
