import { describe, expect, test } from "vitest";
import type { ClientTlsSettings } from "../proxy-config/proxy-config.ts";
import { addressProblem } from "./address.ts";
import { fqdnProblem, trustDomainProblem, wildcardDomainProblem } from "./dns-name.ts";
import { formatErrorList } from "./error-list.ts";
import { tlsSettingsProblems } from "./tls-settings.ts";

describe("addresses", () => {
  test.each([
    "istio-pilot:80",
    "istio-pilot.:80",
    "10.0.0.100:9090",
    "[2001:db8::100]:80",
    "a.b.c:1",
    "x:65535",
    "localhost:+80",
  ])("%s is fine", (address) => {
    expect(addressProblem(address)).toBeUndefined();
  });

  test.each([
    { address: "foo", says: 'unable to split "foo": address foo: missing port in address' },
    { address: "", says: 'unable to split "": missing port in address' },
    { address: "istio-pilot", says: 'unable to split "istio-pilot": address istio-pilot: missing port in address' },
    { address: "isti..:80", says: '"isti.." is not a valid hostname or an IP address' },
    { address: "10.0.0.100", says: 'unable to split "10.0.0.100": address 10.0.0.100: missing port in address' },
    { address: "istio-pilot:port", says: 'port (port) is not a number: strconv.Atoi: parsing "port": invalid syntax' },
    { address: "istio-pilot:", says: 'port () is not a number: strconv.Atoi: parsing "": invalid syntax' },
    { address: "istio-pilot:100000", says: "port number 100000 must be in the range 1..65535" },
    {
      address: "x:99999999999999999999",
      says: 'port (99999999999999999999) is not a number: strconv.Atoi: parsing "99999999999999999999": value out of range',
    },
    { address: "x\u0001:80", says: '"x\\x01" is not a valid hostname or an IP address' },
    { address: "x:0", says: "port number 0 must be in the range 1..65535" },
    { address: "[2001:db8::10::20]:80", says: '"2001:db8::10::20" is not a valid hostname or an IP address' },
    {
      address: "[2001:db8::100]",
      says: 'unable to split "[2001:db8::100]": address [2001:db8::100]: missing port in address',
    },
    {
      address: "2001:db8::100:80",
      says: 'unable to split "2001:db8::100:80": address 2001:db8::100:80: too many colons in address',
    },
    { address: "fo_o:1", says: '"fo_o" is not a valid hostname or an IP address' },
    { address: "10.0.0.300:80", says: '"10.0.0.300" is not a valid hostname or an IP address' },
    { address: ":80", says: '"" is not a valid hostname or an IP address' },
    { address: `${"a".repeat(64)}:80`, says: `"${"a".repeat(64)}" is not a valid hostname or an IP address` },
  ])("$address: $says", ({ address, says }) => {
    expect(addressProblem(address)).toBe(says);
  });
});

describe("domain names", () => {
  test.each(["a", "a.b", "a.b.", "A-1.b", "1.a"])("%s is fine", (name) => expect(fqdnProblem(name)).toBeUndefined());

  test.each([
    { name: "", says: "empty domain name not allowed" },
    { name: "a.123", says: 'domain name "a.123" invalid (top level domain "123" cannot be all-numeric)' },
    { name: "a..b", says: 'domain name "a..b" invalid (label "" invalid)' },
    { name: "-a.b", says: 'domain name "-a.b" invalid (label "-a" invalid)' },
    { name: "a".repeat(256), says: `domain name "${"a".repeat(256)}" too long (max 255)` },
  ])("$name: $says", ({ name, says }) => expect(fqdnProblem(name)).toBe(says));

  test.each(["*", "*.foo.svc.cluster.local", "*-a.b", "bar.baz"])("%s is a wildcard domain", (name) => {
    expect(wildcardDomainProblem(name)).toBeUndefined();
  });

  test.each(["", "a.*", "**", "*.1", "_a.b"])("%s is not a wildcard domain", (name) => {
    expect(wildcardDomainProblem(name)).toBeDefined();
  });
});

describe("trust domains", () => {
  test.each(["cluster.local", "cluster.local.", "foo", "123"])("%s is fine", (domain) => {
    expect(trustDomainProblem(domain)).toBeUndefined();
  });

  test.each([
    { domain: "", says: "empty domain name not allowed" },
    { domain: "foo/bar", says: 'trust domain name "foo/bar" invalid' },
    { domain: "-foo", says: 'trust domain name "-foo" invalid' },
    { domain: "a..b", says: 'trust domain name "a..b" invalid' },
  ])("$domain: $says", ({ domain, says }) => expect(trustDomainProblem(domain)).toBe(says));
});

describe("TLS settings", () => {
  const CREDENTIAL = "cannot specify client certificates or CA certificate or CA CRL If credentialName is set";
  const SKIP_SIMPLE =
    "cannot specify CaCertificates or CredentialName or SubjectAltNames when InsecureSkipVerify is set true";
  const SKIP_MUTUAL = "cannot specify CaCertificates or SubjectAltNames when InsecureSkipVerify is set true";
  const cases: readonly { settings: ClientTlsSettings; says: readonly string[] }[] = [
    { settings: {}, says: [] },
    { settings: { mode: "SIMPLE" }, says: [] },
    {
      settings: { mode: "MUTUAL" },
      says: ["client certificate required for mutual tls", "private key required for mutual tls"],
    },
    { settings: { mode: "MUTUAL", clientCertificate: "c" }, says: ["private key required for mutual tls"] },
    { settings: { mode: "MUTUAL", clientCertificate: "c", privateKey: "k" }, says: [] },
    { settings: { mode: "MUTUAL", credentialName: "x" }, says: [] },
    { settings: { mode: "MUTUAL", credentialName: "x", privateKey: "k" }, says: [CREDENTIAL] },
    { settings: { mode: "SIMPLE", credentialName: "x", caCertificates: "c" }, says: [CREDENTIAL] },
    { settings: { mode: "SIMPLE", credentialName: "x", caCrl: "c" }, says: [CREDENTIAL] },
    { settings: { mode: "DISABLE", credentialName: "x", caCrl: "c" }, says: [] },
    { settings: { mode: "SIMPLE", insecureSkipVerify: true, caCertificates: "c" }, says: [SKIP_SIMPLE] },
    { settings: { mode: "SIMPLE", insecureSkipVerify: true, credentialName: "c" }, says: [SKIP_SIMPLE] },
    { settings: { mode: "SIMPLE", insecureSkipVerify: true, subjectAltNames: ["c"] }, says: [SKIP_SIMPLE] },
    { settings: { mode: "MUTUAL", insecureSkipVerify: true, credentialName: "c" }, says: [] },
    {
      settings: { mode: "MUTUAL", insecureSkipVerify: true, credentialName: "c", subjectAltNames: ["a"] },
      says: [SKIP_MUTUAL],
    },
    { settings: { mode: "SIMPLE", insecureSkipVerify: false, caCertificates: "c" }, says: [] },
    {
      settings: { mode: "SIMPLE", credentialName: "configmap://x" },
      says: ["configmap:// credentialName is not supported here"],
    },
  ];
  test.each(cases)("$settings", ({ settings, says }) => expect(tlsSettingsProblems(settings)).toEqual(says));
});

test("an error list counts its lines and ends with two newlines", () => {
  expect(formatErrorList(["a"])).toBe("1 error occurred:\n\t* a\n\n");
  expect(formatErrorList(["a", "b"])).toBe("2 errors occurred:\n\t* a\n\t* b\n\n");
});
