import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisArchitecture } from "../image/architecture.ts";
import { buildImage } from "../image/build-image.ts";
import { runProgram } from "../src/process/run-program.ts";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { envoyPath, needs } from "../test/support/needs.ts";
import { sharedPlace } from "../test/support/shared-place.ts";

const build = (output: string) =>
  buildImage({
    output,
    names: ["localhost/pilot-agent:test", "localhost/proxyv2:test"],
    architectures: [thisArchitecture() ?? "amd64"],
    envoy: envoyPath(),
    withoutCodeCache: false,
    epochSeconds: 0,
  });

const place = sharedPlace(["root", "tmpfs", "netns", "iptables", "nft", "envoy", "dpkg"], async (opened) => {
  const folder = temporaryFolder();
  opened.defer(() => folder[Symbol.dispose]());
  const built = await build(folder.file("image"));
  const [platform] = built.platforms;
  if (platform === undefined) throw new Error("no platform was built");
  const image = { ...built, ...platform };
  const root = folder.file("root");
  await succeed("mkdir", [root]);
  for (const { digest } of image.layers)
    await succeed("tar", [
      "-C",
      root,
      "-xzf",
      join(folder.file("image/oci/blobs/sha256"), digest.slice("sha256:".length)),
    ]);
  writeFileSync(folder.file("enter.sh"), ENTER);
  return { folder, image, root };
});

async function succeed(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, output, error } = await runProgram(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? output}`);
  return stdout;
}

/** A container by hand: own mounts, processes and network; the root is read-only. */
const ENTER = `set -e
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
mount -o remount,ro,bind "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
ip link set lo up
ip addr add 192.0.2.1/32 dev lo
exec chroot --userspec="$user" "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin "$@"
`;

function runInImage(user: string, ...words: readonly string[]): Promise<string> {
  const { folder, root } = place();
  const namespaces = ["--mount", "--propagation", "private", "--net", "--pid", "--fork", "--kill-child"];
  return succeed("unshare", [...namespaces, "sh", folder.file("enter.sh"), root, user, ...words]);
}

test("two builds of one checkout have the same digest", async () => {
  const { folder, image } = place();
  const again = await build(folder.file("again"));
  expect(again.digest).toBe(image.digest);
  const archives = [image, again].map(({ archive }) => readFileSync(archive));
  expect(archives[0]?.equals(archives[1] ?? Buffer.alloc(0))).toBe(true);
});

test("another reader of Docker's archives and OCI layouts finds the image, its configuration and every layer whole", async (context) => {
  needs("skopeo")(context);
  const { folder, image } = place();
  const inspect = async (source: string, ...flags: readonly string[]) =>
    JSON.parse(await succeed("skopeo", ["inspect", ...flags, source])) as Readonly<Record<string, unknown>>;
  for (const name of ["localhost/pilot-agent:test", "localhost/proxyv2:test"]) {
    const source = `docker-archive:${image.archive}:${name}`;
    expect(await inspect(source)).toMatchObject({ Os: "linux", Architecture: image.platform.slice("linux/".length) });
    const { config } = await inspect(source, "--config");
    expect(config).toMatchObject({ User: "1337:1337", Entrypoint: ["/usr/local/bin/pilot-agent"] });
  }
  // Copying checks the digest of each blob against what the archive says of it.
  const copied = folder.file("copied");
  await succeed("skopeo", [
    ...["--insecure-policy", "copy", "--quiet"],
    ...[`docker-archive:${image.archive}:localhost/pilot-agent:test`, `dir:${copied}`],
  ]);
  const { Layers } = await inspect(`dir:${copied}`);
  expect(Layers).toHaveLength(image.layers.length);
  expect(await inspect(`oci:${folder.file("image/oci")}:test`)).toMatchObject({ Digest: image.digest });
});

test("the image is under 100 MB as it is sent", () => {
  expect(place().image.compressedBytes).toBeLessThan(100e6);
});

test("user 1337 runs agent and Envoy on a read-only root", async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  expect(await runInImage("1337:1337", "pilot-agent", "version")).toContain(`Version:"${version}"`);
  expect(await runInImage("1337:1337", "envoy", "--version")).toMatch(/\/\d+\.\d+\.\d+\//);
  expect(await runInImage("1337:1337", "id")).toContain("uid=1337(istio-proxy) gid=1337(istio-proxy)");
});

const CAPTURE = [
  "pilot-agent",
  "istio-iptables",
  "-p",
  "15001",
  "-z",
  "15006",
  "-u",
  "1337",
  "-m",
  "REDIRECT",
  "-i",
  "*",
  "-b",
  "*",
];

test("capture rules are printed without a right, and set by root with iptables and with nftables", async () => {
  expect(await runInImage("1337:1337", ...CAPTURE, "--dry-run")).toContain(
    "-A ISTIO_REDIRECT -p tcp -j REDIRECT --to-ports 15001",
  );
  const applied = (rules: readonly string[], list: string) =>
    runInImage("0:0", "env", `LIST=${list}`, "sh", "-c", '"$0" "$@" >/dev/null && exec $LIST', ...rules);
  expect(await applied(CAPTURE, "iptables-save")).toContain("-A ISTIO_REDIRECT -p tcp -j REDIRECT --to-ports 15001");
  expect(await applied([...CAPTURE, "--native-nftables"], "nft list ruleset")).toContain("redirect to :15001");
});

test("the bill of materials names Node, Envoy, Debian's and bundled packages with their versions", () => {
  const { packages } = JSON.parse(place().folder.read("image/sbom.spdx.json")) as {
    packages: { name: string; versionInfo: string; SPDXID: string }[];
  };
  const names = packages.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["pilot-agent", "node", "envoy", "yaml", "iptables", "nftables", "libc6"]),
  );
  expect(packages.every(({ versionInfo }) => versionInfo !== "")).toBe(true);
  expect(new Set(packages.map(({ SPDXID }) => SPDXID)).size).toBe(packages.length);
});
