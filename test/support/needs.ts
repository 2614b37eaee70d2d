import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "vitest";
import { chromiumPath } from "./console/chromium-path.ts";
import { hasBinary } from "./kubernetes/binaries.ts";
import { skipWith } from "./skip-with.ts";

/** Real parts of the machine that a test may need: how to see whether they are there, and the command that installs them. */
const REQUIREMENTS = {
  root: { present: () => process.getuid?.() === 0, install: "run as root" },
  netns: {
    present: () => isRoot() && works("ip", ["netns", "list"]),
    install: "run as root; apt-get install iproute2",
  },
  iptables: { present: () => onPath("iptables-nft") && onPath("iptables-legacy"), install: "apt-get install iptables" },
  nft: { present: () => onPath("nft"), install: "apt-get install nftables" },
  dpkg: { present: () => onPath("dpkg-query"), install: "run on Debian, whose packages the image is made of" },
  skopeo: { present: () => onPath("skopeo"), install: "apt-get install skopeo" },
  dig: { present: () => onPath("dig"), install: "apt-get install dnsutils" },
  curl: { present: () => onPath("curl"), install: "apt-get install curl" },
  tcpdump: { present: () => onPath("tcpdump"), install: "apt-get install tcpdump" },
  tmpfs: {
    present: () => isRoot() && works("unshare", ["--mount", "true"]),
    install: "run as root with the right to mount",
  },
  openssl: { present: () => onPath("openssl"), install: "apt-get install openssl" },
  python3: { present: () => onPath("python3"), install: "apt-get install python3" },
  promtool: { present: () => onPath("promtool"), install: "apt-get install prometheus" },
  setpriv: { present: () => onPath("setpriv"), install: "apt-get install util-linux" },
  kubernetes: { present: () => hasBinary("kube") && hasBinary("etcd"), install: "npm run kubernetes -- get" },
  cluster: {
    present: () =>
      isRoot() &&
      hasBinary("kube") &&
      hasBinary("etcd") &&
      ["containerd", "ctr", "runc", "ip", "nsenter", "setpriv", "iptables", "conntrack", "dpkg-query"].every(onPath) &&
      existsSync("/usr/lib/cni/bridge"),
    install:
      "run as root; npm run kubernetes -- get; apt-get install containerd runc containernetworking-plugins conntrack iproute2 iptables",
  },
  consul: { present: () => hasBinary("consul"), install: "npm run kubernetes -- get consul" },
  helm: { present: () => hasBinary("helm"), install: "npm run kubernetes -- get helm" },
  chromium: {
    present: () => chromiumPath() !== undefined,
    install: "apt-get install chromium fonts-dejavu-core",
  },
  envoy: { present: () => envoyPath() !== undefined, install: "./bin/pilot-agent envoy path" },
} as const;

export type Requirement = keyof typeof REQUIREMENTS;

/**
 * For `beforeEach(needs("root", "iptables"))`: skips the test with its reason where the machine lacks a part. With REQUIRE_REAL=1 the
 * lack is a failure instead, so that a green run on such a machine means that everything really ran.
 */
export function needs(...requirements: readonly Requirement[]): (context: TestContext) => void {
  return (context) => {
    const reason = missingFor(...requirements);
    if (reason === undefined) return;
    if (process.env.REQUIRE_REAL === "1") throw new Error(`REQUIRE_REAL=1: ${reason}`);
    skipWith(context, reason);
  };
}

/** What the machine lacks, and how to install it; undefined where it has everything. */
export function missingFor(...requirements: readonly Requirement[]): string | undefined {
  const missing = requirements.filter((requirement) => !has(requirement));
  if (missing.length === 0) return undefined;
  return missing.map((name) => `needs ${name} (${REQUIREMENTS[name].install})`).join("; ");
}

/** The stock Envoy the tests run, as `./bin/pilot-agent envoy path` finds it; undefined when there is none. */
export function envoyPath(): string | undefined {
  envoy ??= { path: findEnvoy() };
  return envoy.path;
}

let envoy: { readonly path: string | undefined } | undefined;
const seen = new Map<Requirement, boolean>();

/** For what is set up once for many tests, each of which says itself what it needs. */
export function has(requirement: Requirement): boolean {
  const known = seen.get(requirement);
  if (known !== undefined) return known;
  const present = REQUIREMENTS[requirement].present();
  seen.set(requirement, present);
  return present;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function findEnvoy(): string | undefined {
  try {
    return execFileSync(join(import.meta.dirname, "../../bin/pilot-agent"), ["envoy", "path"], {
      encoding: "utf8",
    }).trim();
  } catch {
    return undefined;
  }
}

function onPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function works(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
