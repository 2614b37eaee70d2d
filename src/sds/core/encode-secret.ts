import type { MessageType } from "../../protobuf/wire/message.ts";
import { PRIVATE_KEY_METHOD_TYPE_URLS, privateKeyMethodConfig, secret } from "../../protobuf/wire/secret.ts";
import type { SourceSecret } from "../secret-source.ts";

/** Hardware that does the private key operations for Envoy; the key then travels inside the provider's configuration. */
export interface PrivateKeyProvider {
  readonly name: "cryptomb" | "qat";
  readonly pollDelay: { readonly seconds: number; readonly nanos: number };
  /** Envoy does the work itself where the hardware is missing. */
  readonly fallback: boolean;
}

type SecretFields = Partial<MessageType<typeof secret>>;

/** The bytes of envoy.extensions.transport_sockets.tls.v3.Secret. */
export function encodeSecret(source: SourceSecret, provider: PrivateKeyProvider | undefined): Buffer {
  return secret.encode({
    name: source.name,
    ...(source.kind === "key-pair" ? keyPair(source, provider) : bundle(source)),
  });
}

function keyPair(
  source: Extract<SourceSecret, { kind: "key-pair" }>,
  provider: PrivateKeyProvider | undefined,
): SecretFields {
  const certificateChain = { inlineBytes: source.certificateChain };
  const privateKey = { inlineBytes: source.privateKey.reveal() };
  if (provider === undefined) return { tlsCertificate: { certificateChain, privateKey } };
  const { seconds, nanos } = provider.pollDelay;
  const config = privateKeyMethodConfig.encode({ privateKey, pollDelay: { seconds: BigInt(seconds), nanos } });
  const typedConfig = { typeUrl: PRIVATE_KEY_METHOD_TYPE_URLS[provider.name], value: config };
  const privateKeyProvider = { providerName: provider.name, typedConfig, fallback: provider.fallback };
  return { tlsCertificate: { certificateChain, privateKeyProvider } };
}

function bundle(source: Extract<SourceSecret, { kind: "trust-bundle" }>): SecretFields {
  const trustedCa = { inlineBytes: source.roots };
  if (source.crlPath === undefined) return { validationContext: { trustedCa } };
  return { validationContext: { trustedCa, crl: { filename: source.crlPath } } };
}
