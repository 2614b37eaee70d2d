import { posix } from "node:path";
import { compareText } from "../../base/go-text.ts";
import { BootstrapError } from "../bootstrap-error.ts";
import type { BootstrapInputs } from "../inputs.ts";
import { sortKeys, toStrictJson } from "./json.ts";
import type { NodeDescriptor } from "./node-descriptor.ts";

const LISTENER_TEMPLATE = "xds.istio.io/grpc/lds/inbound/%s";

/** The bootstrap of applications that speak xDS themselves (proxyless gRPC), over the agent's own socket. */
export function buildGrpcBootstrap(inputs: BootstrapInputs, node: NodeDescriptor, outputCerts: string): string {
  const configPath = inputs.proxyConfig.configPath;
  if (!configPath)
    throw new BootstrapError("invalid-address", "the proxyless gRPC bootstrap needs ProxyConfig configPath");
  const file = (name: string) => posix.join(outputCerts, name);
  const document = {
    xds_servers: [
      {
        server_uri: `unix:///${posix.join(configPath, "XDS")}`,
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ],
    node: {
      id: node.id,
      metadata: sortKeys({ ...node.typed, GENERATOR: "grpc" }, compareText),
      locality: node.locality,
    },
    ...(outputCerts !== "" && {
      certificate_providers: {
        default: {
          plugin_name: "file_watcher",
          config: {
            certificate_file: file("cert-chain.pem"),
            private_key_file: file("key.pem"),
            ca_certificate_file: file("root-cert.pem"),
            refresh_interval: "900s",
          },
        },
      },
    }),
    server_listener_resource_name_template: LISTENER_TEMPLATE,
  };
  return `${toStrictJson(document, 2)}\n`;
}
