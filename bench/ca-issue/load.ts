import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { createCertificate } from "../../src/grpc/create-certificate.ts";
import { rate } from "./rate.ts";

/** Workloads asking for certificates, in a process of their own: each "go" is one round, answered with its rate. */
const [endpoint = "", ca = "", token = "", csr = ""] = process.argv.slice(2);
const channel = createGrpcChannel(endpoint, { tls: () => ({ ca }) });
const metadata = { authorization: `Bearer ${token}` };
process.on("message", () => {
  void rate(() =>
    channel.unary(createCertificate, { csr, validityDuration: 3600n, metadata: undefined }, { metadata }),
  ).then((perSecond) => process.send?.(perSecond));
});
