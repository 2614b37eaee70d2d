import type { PodTemplate } from "../context.ts";
import { gatewayTemplate } from "./gateway.ts";
import { grpcAgentTemplate } from "./grpc-agent.ts";
import { grpcSimpleTemplate } from "./grpc-simple.ts";
import { sidecarTemplate } from "./sidecar.ts";

/** The templates that need no text; a user's template of the same name replaces one. */
export const BUILTIN_TEMPLATES: ReadonlyMap<string, PodTemplate> = new Map([
  ["sidecar", sidecarTemplate],
  ["gateway", gatewayTemplate],
  ["grpc-simple", grpcSimpleTemplate],
  ["grpc-agent", grpcAgentTemplate],
]);
