import { asSet, type Json, list, object, objects, text, without } from "./json.ts";

/**
 * A transport socket as far as its meaning goes: the names of its secrets (not where they are fetched), the set of accepted
 * identities however they are spelled, SNI and versions. Plaintext is one value, whether said or not.
 */
export function projectTransportSocket(socket: unknown): unknown {
  const config = object(object(socket).typedConfig);
  const type = text(config["@type"]).replace(/^.*\./, "");
  if (socket === undefined || type === "RawBuffer") return "plaintext";
  if (config.transportSocket !== undefined) {
    return { ...without(config, "transportSocket"), inner: projectTransportSocket(config.transportSocket) };
  }
  const { commonTlsContext, ...rest } = config;
  return { ...rest, ...projectTlsContext(object(commonTlsContext)) };
}

function projectTlsContext(context: Json): Json {
  const combined = object(context.combinedValidationContext);
  const validation = { ...object(context.validationContext), ...object(combined.defaultValidationContext) };
  const root = object(combined.validationContextSdsSecretConfig ?? context.validationContextSdsSecretConfig);
  return {
    alpn: list(context.alpnProtocols),
    certificates: objects(context.tlsCertificateSdsSecretConfigs).map(({ name }) => name),
    root: text(root.name),
    sans: asSet(subjectAltNames(validation)),
    validation: without(validation, "matchSubjectAltNames", "matchTypedSubjectAltNames"),
    versions: without(object(context.tlsParams), "cipherSuites"),
    // Proxyless clients have plug-in instances instead of secrets.
    providers: without(
      { ...context, ...combined },
      "alpnProtocols",
      "combinedValidationContext",
      "defaultValidationContext",
      "tlsCertificateSdsSecretConfigs",
      "tlsParams",
      "validationContext",
      "validationContextSdsSecretConfig",
    ),
  };
}

/** A typed matcher must have the type of its value: URI for identities, DNS for host names. */
function subjectAltNames(validation: Json): readonly string[] {
  const plain = objects(validation.matchSubjectAltNames).map(describeMatcher);
  const typed = objects(validation.matchTypedSubjectAltNames).map(({ sanType, matcher }) => {
    const value = describeMatcher(object(matcher));
    const wanted = value.includes("spiffe://") ? "URI" : "DNS";
    return sanType === wanted ? value : `${value} as ${text(sanType)}`;
  });
  return [...plain, ...typed];
}

function describeMatcher(matcher: Json): string {
  return Object.entries(matcher)
    .map(([kind, value]) => `${kind} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join();
}
