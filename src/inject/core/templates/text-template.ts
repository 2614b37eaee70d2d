import { errorMessage } from "../../../base/coded-error.ts";
import { isJsonObject } from "../../../base/json-object.ts";
import { parseGoYaml } from "../../../files/yaml/parse-go-yaml.ts";
import { proxyConfigTable } from "../../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfigRules } from "../../../istio-api/proxy-config/proxy-config-rules.ts";
import { TABLES as MESH_CONFIG } from "../../../protobuf/gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "../../../protobuf/gen/tables/proxy-config.ts";
import { MessageTables } from "../../../protobuf/message-tables.ts";
import { GoStruct, parseTemplate, TemplateError } from "../../../template/index.ts";
import { InjectError } from "../../inject-error.ts";
import { isInboundLocalhost, type PodTemplate, type TemplateContext } from "../context.ts";
import { imagesOf } from "../image.ts";
import { asObject, type Json } from "../json.ts";
import { injectionFunctions } from "./functions.ts";
import { goMessage, goObject } from "./go-values.ts";

const TABLES = new MessageTables(PROXY_CONFIG, MESH_CONFIG);

/** A template of a user: Go template text that renders a partial pod in YAML. Rejects at once when the text does not parse. */
export function textTemplate(
  name: string,
  source: string,
  options: { readonly env: TemplateContext["env"]; readonly proxyConfigRules: ProxyConfigRules },
): PodTemplate {
  const functions = injectionFunctions(options.env, options.proxyConfigRules);
  const template = explained(`template "${name}"`, () => parseTemplate("inject", source, { functions }));
  return (context) => {
    const rendered = explained(`failed to run injection template "${name}"`, () =>
      template.execute(templateData(context)),
    );
    const pod = parsedPod(rendered, name);
    return pod;
  };
}

/** A setting that is itself a template, rendered with what templates have. */
export function renderSetting(name: string, source: string, context: TemplateContext): string {
  const functions = injectionFunctions(context.env, context.proxyConfigRules);
  return explained(name, () => parseTemplate("inject", source, { functions }).execute(templateData(context)));
}

function explained<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (failure) {
    if (!(failure instanceof TemplateError)) throw failure;
    throw new InjectError("invalid-template", `${what}: ${failure.message}`, { cause: failure });
  }
}

function parsedPod(rendered: string, name: string): Json {
  let pod: unknown;
  try {
    pod = parseGoYaml(rendered) ?? {};
  } catch (failure) {
    const problem = `failed parsing generated injected YAML (check Istio sidecar injector configuration)`;
    throw new InjectError("invalid-template", `${problem}: template "${name}": ${errorMessage(failure)}`, {
      cause: failure,
    });
  }
  if (isJsonObject(pod)) return pod;
  throw new InjectError(
    "invalid-template",
    `template "${name}" renders ${JSON.stringify(pod)}, allowed is a partial pod`,
  );
}

function templateData(context: TemplateContext): Json {
  const { pod, owner, mesh, proxyConfig, values } = context;
  const images = imagesOf(pod, values, proxyConfig.image?.imageType ?? "");
  return {
    TypeMeta: struct("v1.TypeMeta", { Kind: owner.kind, APIVersion: owner.apiVersion }),
    DeploymentMeta: struct("types.NamespacedName", { Name: owner.name, Namespace: owner.namespace }),
    ObjectMeta: goObject("ObjectMeta", pod.metadata),
    Spec: goObject("PodSpec", pod.spec),
    ProxyConfig: goMessage(proxyConfigTable(), asObject(proxyConfig)),
    MeshConfig: goMessage(TABLES.message("istio.mesh.v1alpha1.MeshConfig"), asObject(mesh)),
    Values: values.root,
    Revision: context.revision,
    NativeSidecars: context.native,
    ProxyImage: images.proxy,
    ProxyInitImage: images.init,
    ProxyUID: context.proxyUid,
    ProxyGID: context.proxyGid,
    InboundTrafficPolicyMode: isInboundLocalhost(context) ? "localhost" : "passthrough",
    CompliancePolicy: context.compliancePolicy,
  };
}

function struct(name: string, fields: Readonly<Record<string, string>>): GoStruct {
  return new GoStruct(name, new Map(Object.entries(fields)), fields, JSON.stringify(fields));
}
