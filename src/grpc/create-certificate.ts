import {
  CREATE_CERTIFICATE_PATH,
  istioCertificateRequest,
  istioCertificateResponse,
} from "../protobuf/wire/istio-ca.ts";
import type { MessageType } from "../protobuf/wire/message.ts";
import { defineMethod } from "./method.ts";

/** The method by which workloads get their certificates, for the CA and for those that ask it. */
export const createCertificate = defineMethod<
  "unary",
  MessageType<typeof istioCertificateRequest>,
  MessageType<typeof istioCertificateResponse>
>({
  path: CREATE_CERTIFICATE_PATH,
  kind: "unary",
  request: istioCertificateRequest,
  response: istioCertificateResponse,
});
