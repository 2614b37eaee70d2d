import { hostsOverlap } from "../../istio-api/values/hostname.ts";
import { fields, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import { groupBy } from "../../mesh-model/lists.ts";
import { selects } from "../../mesh-model/selector.ts";
import type { AnalyzedMesh, AnalyzedObject, AnalyzedRule } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";
import { selectorText } from "../selectors.ts";

/** Ports that a gateway opens, against those that Services lead to its pods. */
export function gatewayPorts(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const { document, rule } of mesh.rules("Gateway")) {
    const pods = mesh.podsWith(rule.spec.selector);
    const selector = selectorText(rule.spec.selector);
    if (pods.length === 0) {
      const message = `selector not found: ${JSON.stringify(selector)}: no pod has these labels`;
      report("ReferencedResourceNotFound", document, message, ["spec", "selector"]);
      continue;
    }
    const known = servedPorts(mesh, pods);
    rule.spec.servers.forEach(({ port }, at) => {
      if (port === undefined || known.has(port.number)) return;
      const message = `port ${port.number} is not a port of any Service of the gateway's pods (selector ${selector}): it cannot be reached through one`;
      report("GatewayPortNotDefinedOnService", document, message, ["spec", "servers", at, "port", "number"]);
    });
  }
}

function servedPorts(mesh: AnalyzedMesh, pods: readonly AnalyzedObject[]): ReadonlySet<number> {
  const ports = new Set<number>();
  const services = pods.flatMap(({ labels, namespace }) => mesh.servicesSelecting(labels, namespace));
  for (const service of new Set(services)) {
    const spec = fields(service.body.spec);
    for (const { port, targetPort, protocol = "TCP" } of listOf(spec.ports)) {
      if (protocol !== "TCP") continue;
      for (const number of [port, targetPort]) if (typeof number === "number") ports.add(number);
    }
  }
  return ports;
}

/** Gateways at the same pods that want the same host on the same port. */
export function conflictingGateways(mesh: AnalyzedMesh, report: ReportFinding): void {
  const gateways = mesh.rules("Gateway");
  const claims = gateways.flatMap((gateway) =>
    gateway.rule.spec.servers.flatMap((server) =>
      server.hosts.map((host) => ({ gateway, host, key: claimKey(server, host) })),
    ),
  );
  const byKey = groupBy(claims, ({ key }) => key);
  for (const gateway of gateways) {
    gateway.rule.spec.servers.forEach((server, at) => {
      const port = server.port?.number ?? 0;
      const wanting = server.hosts.flatMap((own) =>
        (byKey.get(claimKey(server, own)) ?? [])
          .filter(({ host }) => wantSameHost(own, host))
          .map((claim) => claim.gateway),
      );
      const rivals = [...new Set(wanting)].filter((other) => other !== gateway && meet(mesh, gateway, other));
      if (port === 0 || rivals.length === 0) return;
      const names = rivals.map(({ rule }) => `${rule.namespace}/${rule.name}`).sort();
      const message = `conflict with gateways ${names.join(",")} (workload selector ${selectorText(gateway.rule.spec.selector)}, port ${port}, hosts ${server.hosts.join(",")})`;
      report("ConflictingGateways", gateway.document, message, ["spec", "servers", at]);
    });
  }
}

/** Servers that could meet have it in common. */
function claimKey({ port, bind }: GatewayServer, host: string): string {
  return `${port?.number ?? 0} ${bind} ${splitHost(host)[1]}`;
}

type GatewayServer = AnalyzedRule<"Gateway">["rule"]["spec"]["servers"][number];

function meet(mesh: AnalyzedMesh, { rule: a }: AnalyzedRule<"Gateway">, { rule: b }: AnalyzedRule<"Gateway">): boolean {
  const [own, other] = [a.spec.selector, b.spec.selector];
  if (selectorText(own) === selectorText(other)) return true;
  if (!selects(own, other) && !selects(other, own)) return false;
  return mesh.podsWith(own).some((pod) => selects(other, pod.labels));
}

/** Hosts may be for certain namespaces alone: `prod/*`. */
function wantSameHost(a: string, b: string): boolean {
  const [from, host] = splitHost(a);
  const [otherFrom, otherHost] = splitHost(b);
  return (
    host === otherHost && (from === "*" || otherFrom === "*" || from === otherFrom) && hostsOverlap(host, otherHost)
  );
}

function splitHost(entry: string): readonly [string, string] {
  const slash = entry.indexOf("/");
  return slash === -1 ? ["*", entry] : [entry.slice(0, slash), entry.slice(slash + 1)];
}

/** Clients reuse an HTTP/2 connection for every host of its certificate: one certificate in two gateways leads to 404. */
export function repeatedCertificates(mesh: AnalyzedMesh, report: ReportFinding): void {
  const gateways = mesh.rules("Gateway");
  const uses = gateways.flatMap((gateway) =>
    gateway.rule.spec.servers.flatMap(({ tls }) => {
      const key = certificateKey(tls);
      return key === undefined ? [] : [{ gateway, key }];
    }),
  );
  const byKey = groupBy(uses, ({ key }) => key);
  for (const { document, rule } of gateways) {
    if (Object.keys(rule.spec.selector).length === 0) continue;
    const shared = rule.spec.servers.map(({ tls }) => {
      const using = byKey.get(certificateKey(tls) ?? "") ?? [];
      return new Set(using.map(({ gateway }) => gateway));
    });
    for (const other of new Set(shared.flatMap((using) => [...using]))) {
      if (other.document === document || !selects(rule.spec.selector, other.rule.spec.selector)) continue;
      shared.forEach((using, at) => {
        if (!using.has(other)) return;
        const names = [rule, other.rule].map(({ namespace, name }) => `${namespace}/${name}`);
        const message = `the same certificate in gateways ${names.join(", ")}: clients that reuse an HTTP/2 connection may get 404; use one gateway`;
        report("GatewayDuplicateCertificate", document, message, ["spec", "servers", at, "tls"]);
      });
    }
  }
}

/** Equal for servers with the same certificate; undefined for those without one. */
function certificateKey(tls: GatewayServer["tls"]): string | undefined {
  if (tls === undefined) return undefined;
  if (tls.credentialName !== "") return `secret ${tls.credentialName}`;
  return tls.serverCertificate === "" ? undefined : `files ${tls.serverCertificate} ${tls.privateKey}`;
}

/** Secrets that gateways name, where their pods run. */
export function gatewaySecrets(mesh: AnalyzedMesh, report: ReportFinding): void {
  const secrets = new Map(mesh.of("Secret").map((secret) => [`${secret.namespace}/${secret.name}`, secret]));
  for (const { document, rule } of mesh.rules("Gateway")) {
    const named = rule.spec.servers.flatMap(({ tls }, at) =>
      tls === undefined || tls.credentialName === "" ? [] : [{ name: tls.credentialName, at }],
    );
    const [pod] = mesh.podsWith(rule.spec.selector);
    if (pod === undefined) {
      const message = `selector not found: ${JSON.stringify(selectorText(rule.spec.selector))}: no pod has these labels`;
      report("ReferencedResourceNotFound", document, message, ["spec", "selector"]);
      continue;
    }
    for (const { name, at } of named) {
      const path = ["spec", "servers", at, "tls", "credentialName"];
      const secret = secrets.get(`${pod.namespace}/${name}`);
      if (secret === undefined) {
        const message = `credentialName not found: ${JSON.stringify(name)}: no Secret of this name in namespace ${pod.namespace}, where the gateway runs`;
        report("ReferencedResourceNotFound", document, message, path);
      } else {
        const problem = secretProblem(secret, mesh.certificateProblem);
        if (problem === undefined) continue;
        report("InvalidGatewayCredential", document, `Secret ${name} in namespace ${pod.namespace}: ${problem}`, path);
      }
    }
  }
}

const FORMS = [
  { certificate: "tls.crt", key: "tls.key" },
  { certificate: "cert", key: "key" },
] as const;

function secretProblem(
  { body }: AnalyzedObject,
  certificateProblem: AnalyzedMesh["certificateProblem"],
): string | undefined {
  const data = { ...fields(body.data) };
  for (const [name, value] of Object.entries(fields(body.stringData)))
    data[name] = Buffer.from(textOf(value)).toString("base64");
  const form = FORMS.find(({ certificate }) => data[certificate] !== undefined) ?? FORMS[0];
  for (const name of [form.certificate, form.key]) {
    if (textOf(data[name]) === "") return `${name} is missing; a server needs tls.crt and tls.key (or cert and key)`;
  }
  const pem = Buffer.from(textOf(data[form.certificate]), "base64").toString("latin1");
  const problem = certificateProblem(pem);
  return problem === undefined ? undefined : `${form.certificate}: ${problem}`;
}
