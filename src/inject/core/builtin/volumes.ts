import { posix } from "node:path";
import { annotationsOf, type TemplateContext } from "../context.ts";
import { asObject, asText, type Json } from "../json.ts";
import { BOOTSTRAP_OVERRIDE, jsonAnnotation } from "./proxy-environment.ts";

export function mount(mountPath: string, name: string, readOnly = false): Json {
  return { name, mountPath, ...(readOnly && { readOnly: true }) };
}

const GKE_CERTIFICATES = "/var/run/secrets/workload-spiffe-credentials";

function isGke({ values }: TemplateContext): boolean {
  return values.text("global.caName") === "GkeWorkloadCertificate";
}

export function workloadCertsMount(context: TemplateContext): Json {
  return isGke(context)
    ? mount(GKE_CERTIFICATES, "gke-workload-certificate", true)
    : mount(GKE_CERTIFICATES, "workload-certs");
}

/** `source` is what the volume is backed by; without one the API server makes it an emptyDir. */
export function workloadCertsVolume(context: TemplateContext, source: Json): Json {
  return isGke(context)
    ? { name: "gke-workload-certificate", csi: { driver: "workloadcertificates.security.cloud.google.com" } }
    : { name: "workload-certs", ...source };
}

export function usesIstiodCerts({ values }: TemplateContext): boolean {
  return values.text("global.pilotCertProvider") === "istiod";
}

export function certsMount({ values }: TemplateContext): readonly Json[] {
  return values.isSet("global.mountMtlsCerts") ? [mount("/etc/certs/", "istio-certs", true)] : [];
}

export function certsVolume({ values, pod }: TemplateContext): readonly Json[] {
  if (!values.isSet("global.mountMtlsCerts")) return [];
  const account = asText(asObject(pod.spec).serviceAccountName) || "default";
  return [{ name: "istio-certs", secret: { optional: true, secretName: `istio.${account}` } }];
}

export function bootstrapMount({ pod }: TemplateContext): readonly Json[] {
  if (annotationsOf(pod)[BOOTSTRAP_OVERRIDE] === undefined) return [];
  return [mount("/etc/istio/custom-bootstrap", "custom-bootstrap-volume")];
}

export function bootstrapVolume({ pod }: TemplateContext): readonly Json[] {
  const name = annotationsOf(pod)[BOOTSTRAP_OVERRIDE];
  return name === undefined ? [] : [{ name: "custom-bootstrap-volume", configMap: { name } }];
}

export const DATA_VOLUME: Json = { name: "istio-data", emptyDir: {} };
export const PODINFO_VOLUME: Json = {
  name: "istio-podinfo",
  downwardAPI: {
    items: [
      { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
      { path: "annotations", fieldRef: { fieldPath: "metadata.annotations" } },
    ],
  },
};

export function tokenVolume({ values }: TemplateContext): Json {
  const audience = values.text("global.sds.token.aud");
  const serviceAccountToken = { path: "istio-token", expirationSeconds: 43200, audience };
  return { name: "istio-token", projected: { sources: [{ serviceAccountToken }] } };
}

export function rootCertVolume(context: TemplateContext): readonly Json[] {
  if (!usesIstiodCerts(context)) return [];
  const bundle = context.values.text("global.trustBundleName");
  if (context.values.get("pilot.env.ENABLE_CLUSTER_TRUST_BUNDLE_API") === true) {
    const clusterTrustBundle = { name: `istio.io:istiod-ca:${bundle || "root-cert"}`, path: "root-cert.pem" };
    return [{ name: "istiod-ca-cert", projected: { sources: [{ clusterTrustBundle }] } }];
  }
  return [{ name: "istiod-ca-cert", configMap: { name: bundle || "istio-ca-root-cert" } }];
}

export function userMounts({ pod }: TemplateContext): readonly Json[] {
  const mounts = Object.entries(jsonAnnotation(pod, "sidecar.istio.io/userVolumeMount"));
  return mounts.map(([name, spec]) => ({ name, ...asObject(spec) }));
}

export function userVolumes({ pod }: TemplateContext): readonly Json[] {
  const volumes = Object.entries(jsonAnnotation(pod, "sidecar.istio.io/userVolume"));
  return volumes.map(([name, spec]) => ({ name, ...asObject(spec) }));
}

export function pullSecrets({ values }: TemplateContext): Json {
  const names = values.get("global.imagePullSecrets");
  if (!Array.isArray(names) || names.length === 0) return {};
  return { imagePullSecrets: names.map((name) => ({ name: String(name) })) };
}

function lightstepCa({ values, proxyConfig }: TemplateContext): string | undefined {
  if (values.text("global.proxy.tracer") !== "lightstep") return undefined;
  const tls = proxyConfig.tracing?.tlsSettings;
  return tls === undefined || tls === null ? undefined : (tls.caCertificates ?? "");
}

export function lightstepMount(context: TemplateContext): readonly Json[] {
  const file = lightstepCa(context);
  if (file === undefined) return [];
  const directory = posix.dirname(file);
  return [mount(directory === "/" ? "/" : `${directory}/`, "lightstep-certs", true)];
}

export function lightstepVolume(context: TemplateContext): readonly Json[] {
  if (lightstepCa(context) === undefined) return [];
  return [{ name: "lightstep-certs", secret: { optional: true, secretName: "lightstep.cacert" } }];
}
