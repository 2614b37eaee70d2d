import type { YamlPath } from "../files/yaml/locate-yaml.ts";
import type { AnalyzedObject } from "./analyzed-mesh.ts";

export const LEVELS = ["Info", "Warning", "Error"] as const;
export type Level = (typeof LEVELS)[number];

/** Codes and names are the reference's, so that what operators suppress there is suppressed here; `PA` codes are our own. */
export const MESSAGES = {
  InternalError: { code: "IST0001", level: "Error" },
  Deprecated: { code: "IST0002", level: "Warning" },
  ReferencedResourceNotFound: { code: "IST0101", level: "Error" },
  NamespaceNotInjected: { code: "IST0102", level: "Info" },
  PodMissingProxy: { code: "IST0103", level: "Warning" },
  SchemaValidationError: { code: "IST0106", level: "Error" },
  ConflictingMeshGatewayVirtualServiceHosts: { code: "IST0109", level: "Error" },
  ConflictingSidecarWorkloadSelectors: { code: "IST0110", level: "Error" },
  MultipleSidecarsWithoutWorkloadSelectors: { code: "IST0111", level: "Error" },
  VirtualServiceDestinationPortSelectorRequired: { code: "IST0112", level: "Error" },
  DeploymentAssociatedToMultipleServices: { code: "IST0116", level: "Warning" },
  PortNameIsNotUnderNamingConvention: { code: "IST0118", level: "Info" },
  NamespaceMultipleInjectionLabels: { code: "IST0123", level: "Warning" },
  NoMatchingWorkloadsFound: { code: "IST0127", level: "Warning" },
  NoServerCertificateVerificationDestinationLevel: { code: "IST0128", level: "Warning" },
  NoServerCertificateVerificationPortLevel: { code: "IST0129", level: "Warning" },
  VirtualServiceUnreachableRule: { code: "IST0130", level: "Warning" },
  VirtualServiceIneffectiveMatch: { code: "IST0131", level: "Info" },
  VirtualServiceHostNotFoundInGateway: { code: "IST0132", level: "Warning" },
  SchemaWarning: { code: "IST0133", level: "Warning" },
  ServiceEntryAddressesRequired: { code: "IST0134", level: "Warning" },
  DeploymentConflictingPorts: { code: "IST0137", level: "Warning" },
  GatewayDuplicateCertificate: { code: "IST0138", level: "Warning" },
  InvalidWebhook: { code: "IST0139", level: "Error" },
  IngressRouteRulesNotAffected: { code: "IST0140", level: "Warning" },
  InvalidApplicationUID: { code: "IST0144", level: "Warning" },
  ConflictingGateways: { code: "IST0145", level: "Error" },
  ImageAutoWithoutInjectionWarning: { code: "IST0146", level: "Warning" },
  ImageAutoWithoutInjectionError: { code: "IST0147", level: "Error" },
  NamespaceInjectionEnabledByDefault: { code: "IST0148", level: "Info" },
  JwtClaimBasedRoutingWithoutRequestAuthN: { code: "IST0149", level: "Error" },
  ExternalNameServiceTypeInvalidPortName: { code: "IST0150", level: "Warning" },
  EnvoyFilterUsesRelativeOperation: { code: "IST0151", level: "Warning" },
  EnvoyFilterUsesReplaceOperationIncorrectly: { code: "IST0152", level: "Error" },
  EnvoyFilterUsesAddOperationIncorrectly: { code: "IST0153", level: "Error" },
  EnvoyFilterUsesRemoveOperationIncorrectly: { code: "IST0154", level: "Error" },
  EnvoyFilterUsesRelativeOperationWithProxyVersion: { code: "IST0155", level: "Warning" },
  InvalidTelemetryProvider: { code: "IST0157", level: "Warning" },
  PodsIstioProxyImageMismatchInNamespace: { code: "IST0158", level: "Warning" },
  ConflictingTelemetryWorkloadSelectors: { code: "IST0159", level: "Error" },
  MultipleTelemetriesWithoutWorkloadSelectors: { code: "IST0160", level: "Error" },
  InvalidGatewayCredential: { code: "IST0161", level: "Error" },
  GatewayPortNotDefinedOnService: { code: "IST0162", level: "Warning" },
  ReferencedInternalGateway: { code: "IST0165", level: "Warning" },
  IneffectivePolicy: { code: "IST0167", level: "Warning" },
  DestinationRuleSubsetNotSelectPods: { code: "IST0173", level: "Error" },
  UnknownDestinationRuleHost: { code: "IST0174", level: "Warning" },
  ConflictingServiceEntryProtocol: { code: "IST0177", level: "Warning" },
  RuleWithoutEffect: { code: "PA0001", level: "Warning" },
  AccessDeniedToEverybody: { code: "PA0002", level: "Warning" },
  VirtualServiceHostUnknown: { code: "PA0003", level: "Info" },
  CertificateFileNotFound: { code: "PA0004", level: "Warning" },
} as const satisfies Readonly<Record<string, { readonly code: string; readonly level: Level }>>;

export type MessageName = keyof typeof MESSAGES;

/** One thing that an operator should look at. */
export interface Finding {
  readonly code: string;
  readonly name: MessageName;
  readonly level: Level;
  /** Whose finding it is, by the reference's names where it has such an analyzer. */
  readonly analyzer: string;
  readonly object: Pick<AnalyzedObject, "kind" | "namespace" | "name">;
  readonly message: string;
  /** Undefined for objects of a cluster. */
  readonly position?: { readonly file: string; readonly line: number };
}

export interface Analyzer {
  readonly name: string;
  /** One line, for the list of analyzers. */
  readonly description: string;
}

/** Takes what an analyzer finds; `path` leads to the member of the object that it is about. */
export type ReportFinding = (name: MessageName, object: AnalyzedObject, message: string, path?: YamlPath) => void;
