/** What differs between product generations in the reading of ProxyConfig and MeshConfig. */
export interface ProxyConfigRules {
  readonly mergesProxyMetadata: boolean;
  readonly mergesProxyHeaders: boolean;
  readonly defaultTracing: boolean;
  /** concurrency 2, parentShutdownDuration 60s and empty metrics and access log services. */
  readonly legacyProxyConfigDefaults: boolean;
  readonly validatesStatusPort: boolean;
  readonly validatesParentShutdown: boolean;
  readonly validatesConnectionSettings: boolean;
  readonly privateKeyProviderPrefix: string;
}

/** Of the newest generation; a control plane reads its mesh configuration by them. */
export const CURRENT_PROXY_CONFIG_RULES: ProxyConfigRules = {
  mergesProxyMetadata: true,
  mergesProxyHeaders: true,
  defaultTracing: false,
  legacyProxyConfigDefaults: false,
  validatesStatusPort: true,
  validatesParentShutdown: false,
  validatesConnectionSettings: true,
  privateKeyProviderPrefix: "invalid private key provider configuration:",
};
