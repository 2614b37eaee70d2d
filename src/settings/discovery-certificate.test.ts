import { expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { DISCOVERY_FLAGS } from "../cli/commands/discovery-flags.ts";
import { createFlagValues } from "../cli/framework/flag-values.ts";
import { parseFlags } from "../cli/framework/parse-flags.ts";
import { readCertificateSource } from "./discovery-certificate.ts";

function read(words: readonly string[], provider: string, present: readonly string[] = []) {
  const log = recordLog();
  const flags = createFlagValues(DISCOVERY_FLAGS, parseFlags(DISCOVERY_FLAGS, words, true).set, {});
  const source = readCertificateSource(flags, provider, log, (path) => present.includes(path));
  return { source, warned: log.lines.length };
}

const TLS = "./var/run/secrets/istiod/tls";
const PAIR = [`${TLS}/tls.crt`, `${TLS}/tls.key`];
const ROOT = "./var/run/secrets/istiod/ca/root-cert.pem";
const usual = (ca: string) => ({ certificate: PAIR[0], key: PAIR[1], ca });
const FLAGS = ["--tlsCertFile=c", "--tlsKeyFile=k", "--caCertFile=r"];

test.each([
  { is: "nothing", words: [], present: [], source: "authority" },
  { is: "the flags", words: FLAGS, present: [...PAIR, ROOT], source: { certificate: "c", key: "k", ca: "r" } },
  { is: "files in their usual place", words: [], present: [...PAIR, ROOT], source: usual(ROOT) },
  {
    is: "the root beside the certificate",
    words: [],
    present: [...PAIR, `${TLS}/ca.crt`],
    source: usual(`${TLS}/ca.crt`),
  },
  { is: "files without a root", words: [], present: PAIR, source: "authority" },
])("with $is the certificate comes from $source", ({ words, present, source }) => {
  expect(read(words, "istiod", present)).toEqual({ source, warned: 0 });
});

test.each(["none", "custom"])(
  "PILOT_CERT_PROVIDER=%s leaves out TLS, with a warning, unless files are given",
  (provider) => {
    expect(read([], provider)).toEqual({ source: "none", warned: 1 });
    expect(read(FLAGS, provider).source).toMatchObject({ certificate: "c" });
  },
);

test.each(["kubernetes", "k8s.io/signer"])(
  "PILOT_CERT_PROVIDER=%s fails the start and says what is allowed",
  (provider) => {
    expect(() => read([], provider)).toThrow(
      `PILOT_CERT_PROVIDER is "${provider}", which needs Kubernetes; allowed are istiod (the own CA) and none`,
    );
  },
);
