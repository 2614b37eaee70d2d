import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { defineMethod } from "../../src/grpc/method.ts";
import {
  CREATE_CERTIFICATE_PATH,
  istioCertificateRequest,
  istioCertificateResponse,
} from "../../src/protobuf/wire/istio-ca.ts";
import { rate } from "./rate.ts";

/** Workloads asking for certificates, in a process of their own: each "go" is one round, answered with its rate. */
const [endpoint = "", ca = "", token = "", csr = ""] = process.argv.slice(2);
const method = defineMethod({
  path: CREATE_CERTIFICATE_PATH,
  kind: "unary",
  request: istioCertificateRequest,
  response: istioCertificateResponse,
});
const channel = createGrpcChannel(endpoint, { tls: () => ({ ca }) });
const metadata = { authorization: `Bearer ${token}` };
process.on("message", () => {
  void rate(() => channel.unary(method, { csr, validityDuration: 3600n }, { metadata })).then((perSecond) =>
    process.send?.(perSecond),
  );
});
