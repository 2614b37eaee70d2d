import { existsSync } from "node:fs";
import { join } from "node:path";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { untilAborted } from "../../base/wait.ts";
import { declareCaServerMetrics, openDevelopmentIssuer, startCaServer } from "../../ca/index.ts";
import { addressText } from "../../net/listen/listen.ts";
import { CA_KEYS, readCaDirectory, readCaSettings, readTokenRequest } from "../../settings/ca.ts";
import type { Command, CommandContext } from "../framework/command.ts";

const HOUR = 3_600_000_000_000n;

/** Clients that dial "localhost" ask for istiod's name: the certificate has it beside the machine's own. */
const DEFAULT_HOSTS = [
  "localhost",
  "127.0.0.1",
  "::1",
  "istiod.istio-system.svc",
  "istiod.istio-system.svc.cluster.local",
];

export const command: Command = {
  name: "ca",
  use: "ca --dir DIR",
  short: "Runs a small SPIFFE certificate authority",
  long: `Runs a certificate authority that signs workload certificates over istiod's protocol, on a TLS port.

The directory holds either a CA that you put there (ca-cert.pem, ca-key.pem, root-cert.pem and cert-chain.pem, or tls.crt, tls.key and
ca.crt), which is reloaded when its files change, or a self-signed root that is created there once.
Workloads show a service account token or a certificate of this CA. Tokens are accepted from --jwt-rule and from the CA's own token key
in the directory, which --issue-token signs with.`,
  example: `  # A CA for a test mesh; its root is ./ca/root-cert.pem
  pilot-agent ca --dir ./ca

  # A token for the service account "web" of namespace "default"
  pilot-agent ca --dir ./ca --issue-token default/web > ./var/run/secrets/tokens/istio-token

  # Accept the tokens of a cluster as well
  pilot-agent ca --dir ./ca --jwt-rule '{"issuer":"https://kubernetes.default.svc","jwks_uri":"https://10.0.0.1/openid/v1/jwks","audiences":["istio-ca"]}'`,
  flags: [
    {
      name: "dir",
      type: "string",
      default: "",
      usage: "Directory of the CA's key and certificates, created when missing",
    },
    { name: "listen", type: "string", default: "127.0.0.1:15012", usage: "Address and port to serve on" },
    { name: "trust-domain", type: "string", default: "cluster.local", usage: "Trust domain of the identities" },
    {
      name: "host",
      type: "stringArray",
      default: DEFAULT_HOSTS,
      usage: "DNS name or address for the server's own certificate; may be repeated",
    },
    {
      name: "key",
      type: "string",
      default: "p256",
      usage: `Key of a new self-signed root: ${[...CA_KEYS.keys()].join(", ")}`,
    },
    { name: "default-ttl", type: "duration", default: 24n * HOUR, usage: "Life of certificates that ask for none" },
    { name: "max-ttl", type: "duration", default: 2160n * HOUR, usage: "Longest life that may be asked for" },
    {
      name: "jwt-rule",
      type: "string",
      default: "",
      env: ["JWT_RULE"],
      usage: 'Tokens to accept, as JSON: {"issuer", "audiences", and "jwks_uri" or "jwks"}',
    },
    { name: "issue-token", type: "string", default: "", usage: "Print a token for NAMESPACE/ACCOUNT and end" },
    { name: "token-ttl", type: "duration", default: 24n * HOUR, usage: "Life of the token that --issue-token prints" },
  ],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  async run(context) {
    const directory = readCaDirectory(context.flags);
    if (context.flags.string("issue-token") !== "") return issueToken(context, directory);
    return serve(context);
  },
};

async function issueToken({ flags, print }: CommandContext, directory: string): Promise<number> {
  const { account, seconds } = readTokenRequest(flags);
  const issuer = await openDevelopmentIssuer(directory);
  print(`${(await issuer.issue(account, seconds)).reveal()}\n`);
  return 0;
}

async function serve({ flags, log, print, signal }: CommandContext): Promise<number> {
  const settings = readCaSettings(flags);
  const { directory, trustDomain } = settings;
  const issuer = await openDevelopmentIssuer(directory);
  await using server = await startCaServer({
    ...settings,
    jwtRules: [issuer.rule, ...settings.jwtRules],
    metrics: declareCaServerMetrics(new MetricRegistry()),
    log: log.scope("serverca"),
  });
  const rootFile = join(directory, existsSync(join(directory, "tls.crt")) ? "ca.crt" : "root-cert.pem");
  print(`CA for trust domain ${trustDomain} on ${addressText(server.address)} (${server.authority.kind})
  root certificate: ${rootFile}
  token keys:       ${issuer.jwksPath}
  to get a token:   pilot-agent ca --dir ${directory} --issue-token NAMESPACE/ACCOUNT
`);
  await Promise.race([untilAborted(signal), server.ended]);
  return 0;
}
