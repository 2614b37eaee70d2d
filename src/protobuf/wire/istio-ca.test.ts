import { expect, test } from "vitest";
import { istioCertificateRequest, istioCertificateResponse, requestMetadata, requestMetadataText } from "./istio-ca.ts";

test("a request has the field numbers of the protocol", () => {
  const bytes = istioCertificateRequest.encode({ csr: "C", validityDuration: 5400n });
  expect(bytes.toString("hex")).toBe("0a014318982a");
});

test("the signer is sent even when it is empty, as a string value", () => {
  const bytes = istioCertificateRequest.encode({ metadata: requestMetadata({ CertSigner: "" }) });
  // field 4 { field 1 { key "CertSigner", value { field 3 "" } } }
  expect(bytes.toString("hex")).toBe(`22120a10${"0a0a"}${Buffer.from("CertSigner").toString("hex")}${"12021a00"}`);
  expect(requestMetadataText(istioCertificateRequest.decode(bytes).metadata, "CertSigner")).toBe("");
});

test("metadata texts are read back, others are empty", () => {
  const bytes = istioCertificateRequest.encode({ metadata: requestMetadata({ CertSigner: "x", Other: "y" }) });
  const { metadata } = istioCertificateRequest.decode(bytes);
  expect(requestMetadataText(metadata, "CertSigner")).toBe("x");
  expect(requestMetadataText(metadata, "Missing")).toBe("");
  expect(requestMetadataText(undefined, "CertSigner")).toBe("");
});

test("a metadata number is not text", () => {
  // { "CertSigner": 1.0 }: value { field 2 double }
  const value = "11000000000000f03f";
  const entry = `0a0a${Buffer.from("CertSigner").toString("hex")}1209${value}`;
  const struct = `0a${(entry.length / 2).toString(16).padStart(2, "0")}${entry}`;
  const bytes = Buffer.from(`22${(struct.length / 2).toString(16).padStart(2, "0")}${struct}`, "hex");
  expect(requestMetadataText(istioCertificateRequest.decode(bytes).metadata, "CertSigner")).toBe("");
});

test("the chain keeps its order", () => {
  const decoded = istioCertificateResponse.decode(istioCertificateResponse.encode({ certChain: ["leaf", "", "root"] }));
  expect(decoded.certChain).toEqual(["leaf", "", "root"]);
});
