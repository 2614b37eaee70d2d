import type { TemplateContext } from "../context.ts";
import { asObject, asText, type Json, objects } from "../json.ts";
import { env, POD_FIELDS } from "./proxy-environment.ts";

const VOLUME = "grpc-io-proxyless-bootstrap";
const FOLDER = "/var/lib/grpc/data/";
const FILE = "/var/lib/grpc/data/bootstrap.json";

/** gRPC applications that speak xDS themselves, without an agent: an init container writes their bootstrap file. */
export function grpcSimpleTemplate({ pod, values }: TemplateContext): Json {
  const named = (wanted: string) => POD_FIELDS.filter(({ name }) => name === wanted);
  const volumeMounts = [{ mountPath: FOLDER, name: VOLUME }];
  return {
    metadata: { annotations: { "sidecar.istio.io/rewriteAppHTTPProbers": "false" } },
    spec: {
      initContainers: [
        {
          name: "grpc-bootstrap-init",
          image: "busybox:1.28",
          volumeMounts,
          env: [
            ...named("INSTANCE_IP"),
            ...named("POD_NAME"),
            ...named("POD_NAMESPACE"),
            env("ISTIO_NAMESPACE", `${values.text("global.istioNamespace")}\n`),
          ],
          command: ["sh", "-c", BOOTSTRAP_SCRIPT],
        },
      ],
      containers: objects(asObject(pod.spec).containers).map(({ name }) => ({
        name: asText(name),
        env: [
          env("GRPC_XDS_BOOTSTRAP", FILE),
          env("GRPC_GO_LOG_VERBOSITY_LEVEL", "99"),
          env("GRPC_GO_LOG_SEVERITY_LEVEL", "info"),
        ],
        volumeMounts,
      })),
      volumes: [{ name: VOLUME, emptyDir: {} }],
    },
  };
}

/** A reference to a variable, as the shell expands it. */
function variable(name: string): string {
  return ["$", "{", name, "}"].join("");
}

/** The pod's address and name are known only inside of it. */
const BOOTSTRAP_SCRIPT = [
  `NODE_ID="sidecar~${variable("INSTANCE_IP")}~${variable("POD_NAME")}.${variable("POD_NAMESPACE")}~cluster.local"`,
  `SERVER_URI="dns:///istiod.${variable("ISTIO_NAMESPACE")}.svc:15010"`,
  "echo '",
  "{",
  '  "xds_servers": [',
  "    {",
  `      "server_uri": "'${variable("SERVER_URI")}'",`,
  '      "channel_creds": [{"type": "insecure"}],',
  '      "server_features" : ["xds_v3"]',
  "    }",
  "  ],",
  '  "node": {',
  `    "id": "'${variable("NODE_ID")}'",`,
  '    "metadata": {',
  '      "GENERATOR": "grpc"',
  "    }",
  "  }",
  `}' > ${FILE}`,
].join("\n");
