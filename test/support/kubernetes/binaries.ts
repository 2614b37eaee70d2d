import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The programs of Kubernetes that its one binary is, by the name it is called by. */
const KUBERNETES_PROGRAMS = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-proxy",
  "kube-scheduler",
  "kubectl",
  "kubelet",
] as const;

const VERSION = "v1.37.1";
const VERSION_PACKAGE = "k8s.io/component-base/version";

/** What is built: each from the module of the same name under modules/, whose go.mod and go.sum pin everything. */
export const BINARIES = {
  kube: {
    package: ".",
    links: KUBERNETES_PROGRAMS,
    // Clients ask the server for its version, which its own build script would set.
    stamp: [
      `-X ${VERSION_PACKAGE}.gitVersion=${VERSION}`,
      `-X ${VERSION_PACKAGE}.gitMajor=1 -X ${VERSION_PACKAGE}.gitMinor=37`,
      `-X ${VERSION_PACKAGE}.gitTreeState=clean -X k8s.io/client-go/pkg/version.gitVersion=${VERSION}`,
    ].join(" "),
  },
  etcd: { package: "go.etcd.io/etcd/server/v3", links: [], stamp: "" },
  consul: { package: "github.com/hashicorp/consul", links: [], stamp: "" },
  helm: { package: "helm.sh/helm/v4/cmd/helm", links: [], stamp: "" },
} as const;

export type Binary = keyof typeof BINARIES;

export function isBinary(name: string): name is Binary {
  return Object.hasOwn(BINARIES, name);
}

/** The files that pin a binary. */
export function moduleFolder(binary: Binary): string {
  return join(import.meta.dirname, "modules", binary);
}

/** Its folder in the user's cache, under a key of what it is built from: another version never runs by mistake. */
export function binaryFolder(binary: Binary): string {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch} ${BINARIES[binary].stamp}\n`);
  for (const file of readdirSync(moduleFolder(binary)).toSorted())
    hash.update(`${file}\n`).update(readFileSync(join(moduleFolder(binary), file)));
  const cache = process.env.XDG_CACHE_HOME || join(process.env.HOME || "/tmp", ".cache");
  return join(cache, "pilot-agent", "real", `${binary}-${hash.digest("hex").slice(0, 16)}`);
}

export function hasBinary(binary: Binary): boolean {
  return [binary, ...BINARIES[binary].links].every((name) => existsSync(join(binaryFolder(binary), name)));
}

/** Where a program is, once `npm run kubernetes -- get` was run. */
export function programPath(program: Binary | (typeof KUBERNETES_PROGRAMS)[number]): string {
  return join(binaryFolder(isBinary(program) ? program : "kube"), program);
}
