import { TYPE_PREFIX } from "../type-url.ts";
import { any, duration } from "./discovery.ts";
import { bool, bytes, type MessageType, message, nested, string } from "./message.ts";

/** envoy.config.core.v3.DataSource; exactly one member is set. */
const dataSource = message({ filename: string(1), inlineBytes: bytes(2), inlineString: string(3) });
export type DataSource = MessageType<typeof dataSource>;

/** envoy.extensions.transport_sockets.tls.v3.PrivateKeyProvider. */
const privateKeyProvider = message({ providerName: string(1), typedConfig: nested(3, any), fallback: bool(4) });

/** envoy.extensions.transport_sockets.tls.v3.TlsCertificate. */
const tlsCertificate = message({
  certificateChain: nested(1, dataSource),
  privateKey: nested(2, dataSource),
  privateKeyProvider: nested(6, privateKeyProvider),
});

/** envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext. */
const certificateValidationContext = message({ trustedCa: nested(1, dataSource), crl: nested(7, dataSource) });

/** envoy.extensions.transport_sockets.tls.v3.Secret; one of the two message members is set. */
export const secret = message({
  name: string(1),
  tlsCertificate: nested(2, tlsCertificate),
  validationContext: nested(4, certificateValidationContext),
});

/** The configuration of both key providers: CryptoMbPrivateKeyMethodConfig and QatPrivateKeyMethodConfig have the same shape. */
export const privateKeyMethodConfig = message({ privateKey: nested(1, dataSource), pollDelay: nested(2, duration) });

export const PRIVATE_KEY_METHOD_TYPE_URLS = {
  cryptomb: `${TYPE_PREFIX}envoy.extensions.private_key_providers.cryptomb.v3alpha.CryptoMbPrivateKeyMethodConfig`,
  qat: `${TYPE_PREFIX}envoy.extensions.private_key_providers.qat.v3alpha.QatPrivateKeyMethodConfig`,
} as const;
