import { expect, test } from "vitest";
import { foreignCodec, loadEnvoyProtos } from "../../../test/support/sds/envoy-protos.ts";
import { Secret } from "../../base/secret.ts";
import { privateKeyMethodConfig } from "../../protobuf/wire/secret.ts";
import type { SourceSecret } from "../secret-source.ts";
import { encodeSecret, type PrivateKeyProvider } from "./encode-secret.ts";

const foreign = foreignCodec(loadEnvoyProtos(), "envoy.extensions.transport_sockets.tls.v3.Secret");
const pair: SourceSecret = {
  kind: "key-pair",
  name: "default",
  certificateChain: Buffer.from("chain"),
  privateKey: new Secret(Buffer.from("key")),
  version: "1",
};
const bundle: SourceSecret = {
  kind: "trust-bundle",
  name: "ROOTCA",
  roots: Buffer.from("roots"),
  crlPath: undefined,
  version: "1",
};

test("a key pair is an inline TLS certificate", () => {
  expect(foreign.decode(encodeSecret(pair, undefined))).toEqual({
    name: "default",
    type: "tls_certificate",
    tls_certificate: {
      certificate_chain: { inline_bytes: Buffer.from("chain"), specifier: "inline_bytes" },
      private_key: { inline_bytes: Buffer.from("key"), specifier: "inline_bytes" },
    },
  });
});

test("a trust bundle is an inline validation context and nothing else", () => {
  expect(foreign.decode(encodeSecret(bundle, undefined))).toEqual({
    name: "ROOTCA",
    type: "validation_context",
    validation_context: { trusted_ca: { inline_bytes: Buffer.from("roots"), specifier: "inline_bytes" } },
  });
});

test("a list of revoked certificates is announced by its path", () => {
  const decoded = foreign.decode(encodeSecret({ ...bundle, crlPath: "/crl.pem" }, undefined));
  expect(decoded).toMatchObject({ validation_context: { crl: { filename: "/crl.pem", specifier: "filename" } } });
});

test.each<{ name: PrivateKeyProvider["name"]; type: string }>([
  { name: "cryptomb", type: "envoy.extensions.private_key_providers.cryptomb.v3alpha.CryptoMbPrivateKeyMethodConfig" },
  { name: "qat", type: "envoy.extensions.private_key_providers.qat.v3alpha.QatPrivateKeyMethodConfig" },
])(
  "with $name the key travels inside the provider's configuration, seconds of the poll delay included",
  ({ name, type }) => {
    const provider: PrivateKeyProvider = { name, pollDelay: { seconds: 2, nanos: 5 }, fallback: true };
    const { tls_certificate: certificate } = foreign.decode(encodeSecret(pair, provider)) as {
      tls_certificate: { private_key?: unknown; private_key_provider: { typed_config: { value: Buffer } } };
    };
    expect(certificate.private_key).toBeUndefined();
    expect(certificate.private_key_provider).toMatchObject({
      provider_name: name,
      fallback: true,
      typed_config: { type_url: `type.googleapis.com/${type}` },
    });
    expect(privateKeyMethodConfig.decode(certificate.private_key_provider.typed_config.value)).toMatchObject({
      privateKey: { inlineBytes: Buffer.from("key") },
      pollDelay: { seconds: 2n, nanos: 5 },
    });
  },
);
