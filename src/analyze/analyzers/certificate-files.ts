import type { YamlPath } from "../../files/yaml/locate-yaml.ts";
import { fields, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";
import { PROXY_CONTAINER, podSpecOf } from "../selectors.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A file that a rule names, for the proxies of certain pods. */
interface NamedFile {
  readonly document: AnalyzedObject;
  readonly path: YamlPath;
  readonly file: string;
  readonly pods: readonly AnalyzedObject[];
}

/** Files of certificates and keys that no proxy has for which a rule names them: what is mounted into them is known. */
export function certificateFiles(mesh: AnalyzedMesh, report: ReportFinding): void {
  const known = new Map<readonly AnalyzedObject[], Map<string, string | undefined>>();
  for (const { document, path, file, pods } of [
    ...ofGateways(mesh),
    ...ofSidecars(mesh),
    ...ofDestinationRules(mesh),
  ]) {
    // Many rules name one file for all proxies.
    const reasons = known.get(pods) ?? new Map<string, string | undefined>();
    known.set(pods, reasons);
    if (!reasons.has(file)) reasons.set(file, reasonMissingInAll(mesh, pods, file));
    const reason = reasons.get(file);
    if (reason !== undefined) report("CertificateFileNotFound", document, `${file} does not exist: ${reason}`, path);
  }
}

/** One proxy that has it is enough: others may never make such calls. */
function reasonMissingInAll(mesh: AnalyzedMesh, pods: readonly AnalyzedObject[], file: string): string | undefined {
  let first: string | undefined;
  for (const pod of pods) {
    const reason = reasonMissing(mesh, pod, file);
    if (reason === undefined) return undefined;
    first ??= reason;
  }
  return first;
}

function* ofGateways(mesh: AnalyzedMesh): Generator<NamedFile> {
  for (const { document, rule } of mesh.rules("Gateway")) {
    const pods = knownProxies(mesh.podsWith(rule.spec.selector));
    for (const [at, { tls }] of rule.spec.servers.entries()) {
      const path = ["spec", "servers", at, "tls"];
      for (const [member, file] of filesIn(tls)) yield { document, path: [...path, member], file, pods };
    }
  }
}

function* ofSidecars(mesh: AnalyzedMesh): Generator<NamedFile> {
  for (const { document, rule } of mesh.rules("Sidecar")) {
    const pods = knownProxies(mesh.podsWith(rule.spec.workloadSelector?.labels ?? {}, rule.namespace));
    for (const [at, { tls }] of rule.spec.ingress.entries()) {
      for (const [member, file] of filesIn(tls))
        yield { document, path: ["spec", "ingress", at, "tls", member], file, pods };
    }
  }
}

function* ofDestinationRules(mesh: AnalyzedMesh): Generator<NamedFile> {
  const all = knownProxies(mesh.of("Pod"));
  for (const { document, rule } of mesh.rules("DestinationRule")) {
    const { trafficPolicy, subsets, workloadSelector } = rule.spec;
    const labels = workloadSelector?.matchLabels ?? {};
    const isLimited = Object.keys(labels).length > 0;
    const policies = [
      { path: ["spec", "trafficPolicy"], policy: trafficPolicy },
      ...subsets.map((subset, at) => ({
        path: ["spec", "subsets", at, "trafficPolicy"],
        policy: subset.trafficPolicy,
      })),
    ];
    const named = policies.flatMap(({ path, policy }) => [
      ...filesIn(policy?.tls).map(([member, file]) => ({ path: [...path, "tls", member], file })),
      ...(policy?.portLevelSettings ?? []).flatMap(({ tls }, at) =>
        filesIn(tls).map(([member, file]) => ({ path: [...path, "portLevelSettings", at, "tls", member], file })),
      ),
    ]);
    if (named.length === 0) continue;
    const pods = isLimited ? knownProxies(mesh.podsWith(labels, rule.namespace)) : all;
    for (const one of named) yield { document, ...one, pods };
  }
}

const MEMBERS = ["serverCertificate", "clientCertificate", "privateKey", "caCertificates", "caCrl"] as const;

/** Absolute paths: other words, like `system`, are no files. */
function filesIn(tls: object | undefined): readonly (readonly [member: string, file: string])[] {
  const named = fields(tls);
  return MEMBERS.flatMap((member) => {
    const file = textOf(named[member]);
    return file.startsWith("/") ? [[member, file] as const] : [];
  });
}

/** Proxies that are there with what is mounted into them. What injection will give a pod is not known here. */
function knownProxies(pods: readonly AnalyzedObject[]): readonly AnalyzedObject[] {
  return pods.filter((pod) => mountsOf(pod).length > 0);
}

function mountsOf(pod: AnalyzedObject): readonly Fields[] {
  const { containers, initContainers } = podSpecOf(pod);
  const proxy = [...listOf(containers), ...listOf(initContainers)].find(({ name }) => name === PROXY_CONTAINER);
  return listOf(proxy?.volumeMounts);
}

/** Folders of images that have roots of public authorities. */
const OF_IMAGES = /^\/(etc\/(ssl|pki)|usr)\//;

/** Undefined where the proxy has the file, or may have it. */
function reasonMissing(mesh: AnalyzedMesh, pod: AnalyzedObject, file: string): string | undefined {
  const mounts = mountsOf(pod).filter(({ mountPath }) => {
    const path = textOf(mountPath).replace(/\/$/, "");
    return path !== "" && (file === path || file.startsWith(`${path}/`));
  });
  const [mount] = mounts.toSorted((a, b) => textOf(b.mountPath).length - textOf(a.mountPath).length);
  if (mount === undefined) {
    const where = `the proxy of pod ${pod.namespace}/${pod.name}`;
    return OF_IMAGES.test(file) ? undefined : `nothing is mounted there in ${where}`;
  }
  const volume = listOf(podSpecOf(pod).volumes).find(({ name }) => name === mount.name);
  const inside = textOf(mount.subPath) || file.slice(textOf(mount.mountPath).replace(/\/$/, "").length + 1);
  return volume && reasonInVolume(mesh, pod.namespace, volume, inside);
}

/** Volumes of Secrets and ConfigMaps have what their object has; of others nothing is known. */
function reasonInVolume(mesh: AnalyzedMesh, namespace: string, volume: Fields, inside: string): string | undefined {
  const [secret, configMap] = [fields(volume.secret), fields(volume.configMap)];
  const isSecret = volume.secret !== undefined;
  if (!isSecret && volume.configMap === undefined) return undefined;
  const kind = isSecret ? "Secret" : "ConfigMap";
  const name = textOf(isSecret ? secret.secretName : configMap.name);
  const { items, optional } = isSecret ? secret : configMap;
  const object = mesh.named(kind, namespace, name);
  // A pod does not start without one that is not optional; objects that are not given may be there.
  if (object === undefined)
    return optional === true && mesh.of(kind).length > 0 ? `there is no ${kind} ${namespace}/${name}` : undefined;
  const item = listOf(items).find(({ path }) => path === inside);
  const key = items === undefined ? inside : textOf(item?.key);
  const keys = [object.body.data, object.body.stringData, object.body.binaryData].flatMap((data) =>
    Object.keys(fields(data)),
  );
  return keys.includes(key)
    ? undefined
    : `${kind} ${namespace}/${name}, which is mounted there, has no ${key || inside}`;
}
