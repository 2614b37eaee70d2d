import { createHash } from "node:crypto";
import type { DebianPackage } from "./debian-packages.ts";

/** A part of the image that is not a Debian package. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** Package URL (purl). */
  readonly purl: string;
  readonly license: string;
  readonly sha256?: string;
}

export interface SbomOptions {
  readonly name: string;
  readonly version: string;
  readonly createdSeconds: number;
  readonly debian: readonly DebianPackage[];
  readonly components: readonly Component[];
}

/** The contents of the image as an SPDX 2.3 document. The same contents give the same text. */
export function buildSbom({ name, version, createdSeconds, debian, components }: SbomOptions): string {
  const packages = [
    ...components.map((part) => spdxPackage(part)),
    ...debian.map((part) =>
      spdxPackage({
        name: part.name,
        version: part.version,
        // The licenses are in the package's own copyright file, which is in the image.
        license: "NOASSERTION",
        purl: `pkg:deb/debian/${part.name}@${encodeURIComponent(part.version)}?arch=${part.architecture}`,
      }),
    ),
  ];
  const digest = createHash("sha256").update(JSON.stringify(packages)).digest("hex");
  const root = { ...spdxPackage({ name, version, license: "Apache-2.0", purl: `pkg:oci/${name}@${version}` }) };
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${name}-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/${name}-${version}-${digest}`,
    creationInfo: { created: isoSeconds(createdSeconds), creators: [`Tool: ${name}-image-${version}`] },
    packages: [root, ...packages],
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: root.SPDXID },
      ...packages.map(({ SPDXID }) => ({
        spdxElementId: root.SPDXID,
        relationshipType: "CONTAINS",
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

export function isoSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

function spdxPackage({ name, version, purl, license, sha256 }: Component) {
  return {
    SPDXID: `SPDXRef-${purl.replace(/[^A-Za-z0-9.-]+/g, "-")}`,
    name,
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared: license,
    copyrightText: "NOASSERTION",
    ...(sha256 !== undefined && { checksums: [{ algorithm: "SHA256", checksumValue: sha256 }] }),
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
  };
}
