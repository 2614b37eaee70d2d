import { bool, bytes, int64, message, nested, repeated, repeatedString, string, uint32 } from "./message.ts";

/** google.protobuf.Duration; nothing here needs less than a second. */
const duration = message({ seconds: int64(1) });

/** google.security.meshca.v1: Google's mesh CA. */
export const MESH_CA_CREATE_PATH = "/google.security.meshca.v1.MeshCertificateService/CreateCertificate";

export const meshCertificateRequest = message({
  /** A UUID: the CA answers a repeated request with the same certificate. */
  requestId: string(1),
  csr: string(2),
  validity: nested(3, duration),
});

export const meshCertificateResponse = message({
  /** PEM, leaf first, root last. */
  certChain: repeatedString(1),
});

/** google.cloud.security.privateca.v1: pools of CAs in Google's Certificate Authority Service. */
export const CAS_CREATE_PATH = "/google.cloud.security.privateca.v1.CertificateAuthorityService/CreateCertificate";
export const CAS_FETCH_CA_CERTS_PATH = "/google.cloud.security.privateca.v1.CertificateAuthorityService/FetchCaCerts";

/** `SubjectRequestMode.REFLECTED_SPIFFE`: the SPIFFE name comes from who calls, not from the request. */
export const REFLECTED_SPIFFE = 2;
/** `PublicKey.KeyFormat.PEM` */
export const PEM_KEY = 1;

const keyUsage = message({
  baseKeyUsage: nested(1, message({ digitalSignature: bool(1), keyEncipherment: bool(3) })),
  extendedKeyUsage: nested(2, message({ serverAuth: bool(1), clientAuth: bool(2) })),
});

const certificateConfig = message({
  subjectConfig: nested(1, message({ subject: nested(1, message({})) })),
  x509Config: nested(2, message({ keyUsage: nested(1, keyUsage), caOptions: nested(2, message({ isCa: bool(1) })) })),
  publicKey: nested(3, message({ key: bytes(1), format: uint32(2) })),
});

export const casCertificate = message({
  name: string(1),
  config: nested(3, certificateConfig),
  lifetime: nested(5, duration),
  subjectMode: uint32(7),
  pemCertificate: string(9),
  pemCertificateChain: repeatedString(11),
});

export const casCreateRequest = message({
  /** The CA pool. */
  parent: string(1),
  certificateId: string(2),
  certificate: nested(3, casCertificate),
  requestId: string(4),
});

export const casFetchRequest = message({ caPool: string(1), requestId: string(2) });

export const casFetchResponse = message({
  caCerts: repeated(1, message({ certificates: repeatedString(1) })),
});
