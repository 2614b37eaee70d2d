// One sidecar on this machine, configured and certified by a running istiod, or any control plane that speaks as it does.
//   node scripts/with-istiod.mjs ADDRESS TOKEN_FILE ROOT_FILE [--name POD] [--namespace NS] [--account NAME] [--san NAME] [--folder DIR]
//                                [-- words for `pilot-agent proxy sidecar`]
// Both files are linked, not copied: a renewed token or root is used as it would be in a pod. Variables of the environment go to the agent.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const USAGE =
  "usage: node scripts/with-istiod.mjs ADDRESS TOKEN_FILE ROOT_FILE [--name POD] [--namespace NS] [--account NAME] [--san NAME] [--folder DIR] [-- words]";
/** What its certificate says, whatever number or tunnel leads to it. */
const ISTIOD_NAME = "istiod.istio-system.svc";

function fail(text) {
  console.error(text);
  process.exit(2);
}

function read(path, what) {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    return fail(`cannot read the ${what} ${path}: ${thrown.message}`);
  }
}

/** A service account's token names it; others need --namespace and --account. */
function accountOf(token) {
  try {
    const { sub } = JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
    const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(sub) ?? [];
    return { namespace, account };
  } catch {
    return {};
  }
}

function proxyConfig(address) {
  const given = process.env.PROXY_CONFIG ?? "{}";
  try {
    return JSON.stringify({ ...JSON.parse(given), discoveryAddress: address });
  } catch {
    return fail(`PROXY_CONFIG must be JSON here: ${given}`);
  }
}

function wordsOf(words) {
  const split = words.indexOf("--");
  const own = split === -1 ? words : words.slice(0, split);
  const text = { type: "string" };
  const options = { name: text, namespace: text, account: text, san: text, folder: text };
  try {
    const parsed = parseArgs({ args: own, options, allowPositionals: true });
    return { ...parsed, rest: split === -1 ? [] : words.slice(split + 1) };
  } catch (thrown) {
    return fail(`${thrown.message}\n${USAGE}`);
  }
}

const { values, positionals, rest } = wordsOf(process.argv.slice(2));
if (positionals.length !== 3) fail(USAGE);
const [address, tokenFile, rootFile] = positionals;
const [, host] =
  /^\[?([^\]]+)\]?:\d+$/.exec(address) ?? fail(`${address} is not an address: HOST:PORT, as in localhost:15012`);
const token = read(tokenFile, "token").trim();
if (token === "") fail(`the token ${tokenFile} is empty`);
if (!read(rootFile, "roots").includes("BEGIN CERTIFICATE")) fail(`${rootFile} holds no certificate in PEM`);
const { namespace = "default", account = "default" } = { ...accountOf(token), ...values };

const folder = resolve(values.folder ?? mkdtempSync(join(tmpdir(), "with-istiod-")));
for (const [path, target] of [
  ["var/run/secrets/tokens/istio-token", tokenFile],
  ["var/run/secrets/istio/root-cert.pem", rootFile],
]) {
  const link = join(folder, path);
  mkdirSync(resolve(link, ".."), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(resolve(target), link);
}
const san = values.san ?? (isIP(host) !== 0 || host === "localhost" ? ISTIOD_NAME : undefined);
console.log(`pilot-agent of ${namespace}/${account} in ${folder}, configured by ${address}${san ? ` (${san})` : ""}`);

const launcher = resolve(import.meta.dirname, "../bin/pilot-agent");
if (!existsSync(resolve(import.meta.dirname, "../dist"))) fail("the program is not built: npm run build");
const agent = spawn(launcher, ["proxy", "sidecar", ...rest], {
  cwd: folder,
  stdio: "inherit",
  env: {
    ISTIO_META_CLUSTER_ID: "Kubernetes",
    ...process.env,
    POD_NAME: values.name ?? process.env.POD_NAME ?? "laptop",
    POD_NAMESPACE: namespace,
    SERVICE_ACCOUNT: account,
    PROXY_CONFIG: proxyConfig(address),
    ...(san !== undefined && { ISTIOD_SAN: san }),
  },
});
process.on("SIGINT", () => undefined);
for (const name of ["SIGTERM", "SIGHUP"]) process.on(name, () => agent.kill("SIGTERM"));
agent.on("error", (thrown) => fail(thrown.message));
agent.on("exit", (code) => {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
